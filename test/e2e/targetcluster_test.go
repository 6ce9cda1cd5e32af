// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"os"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/home"
)

// hiddenGroup is the internal group of Deployments in a target cluster, because a CRD's group must
// contain a dot.
const hiddenGroup = "apps.yuba.test"

// hiddenDeployments defines them, without a schema.
const hiddenDeployments = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: deployments.` + hiddenGroup + `
spec:
  group: ` + hiddenGroup + `
  scope: Namespaced
  names: {plural: deployments, singular: deployment, kind: Deployment, listKind: DeploymentList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
`

// targetCluster is a cluster with Deployments: a second API behind a proxy that renames their
// group, and a controller that makes them ready. Like a cluster, it records a Deployment that was
// created before a Secret that it needs.
type targetCluster struct {
	control *home.ControlPlane
	client  client.WithWatch
	// kubeconfig is the access to the proxy. shut closes the proxy for good.
	kubeconfig []byte
	shut       func()

	mu     sync.Mutex
	seen   map[types.UID]bool
	faults map[string][]string // by namespace
}

func startTargetCluster(t *testing.T) *targetCluster {
	t.Helper()
	c := &targetCluster{seen: map[types.UID]bool{}, faults: map[string][]string{}}
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var err error
	if c.control, err = home.Start(ctx, home.Options{DataDir: dir, APIAddress: "127.0.0.1:0", Version: "test",
		CRDs: fstest.MapFS{"deployments.yaml": &fstest.MapFile{Data: []byte(hiddenDeployments)}},
		Log:  slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))}); err != nil {
		t.Fatalf("start a target cluster: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := c.control.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	config := c.control.RESTConfig()
	config.QPS = -1
	if c.client, err = client.NewWithWatch(config, client.Options{Scheme: clientgoscheme.Scheme}); err != nil {
		t.Fatal(err)
	}
	c.openDoor(t, config)
	c.live(t)
	return c
}

// openDoor starts the proxy, with a token, and writes the kubeconfig for it.
func (c *targetCluster) openDoor(t *testing.T, config *rest.Config) {
	t.Helper()
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	behind, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	token := rand.Text()
	server := httptest.NewTLSServer(door(behind, transport, token))
	c.shut = sync.OnceFunc(func() {
		server.CloseClientConnections()
		server.Close()
	})
	t.Cleanup(c.shut)
	made := clientcmdapi.NewConfig()
	made.Clusters["target"] = &clientcmdapi.Cluster{Server: server.URL,
		CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})}
	made.AuthInfos["deployer"] = &clientcmdapi.AuthInfo{Token: token}
	made.Contexts["target"] = &clientcmdapi.Context{Cluster: "target", AuthInfo: "deployer"}
	made.CurrentContext = "target"
	if c.kubeconfig, err = clientcmd.Write(*made); err != nil {
		t.Fatal(err)
	}
}

func deploymentKind(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: hiddenGroup, Version: "v1", Kind: kind}
}

func newDeployment() *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(deploymentKind("Deployment"))
	return o
}

// live makes Deployments ready until the test ends.
func (c *targetCluster) live(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	t.Cleanup(func() {
		cancel()
		<-done
	})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(deploymentKind("DeploymentList"))
			w, err := c.client.Watch(ctx, list)
			if err != nil {
				select {
				case <-ctx.Done():
				case <-time.After(100 * time.Millisecond):
				}
				continue
			}
			for event := range w.ResultChan() {
				if o, ok := event.Object.(*unstructured.Unstructured); ok && (event.Type == watch.Added || event.Type == watch.Modified) {
					c.take(ctx, o)
				}
			}
		}
	}()
}

// take checks a Deployment as a cluster does, and reports its Pods as running.
func (c *targetCluster) take(ctx context.Context, o *unstructured.Unstructured) {
	if !c.knows(o.GetUID()) {
		for _, missing := range c.missing(ctx, o) {
			c.blame(o.GetNamespace(), fmt.Sprintf("the Deployment %s was there before %s", o.GetName(), missing))
		}
	}
	replicas, found, err := unstructured.NestedInt64(o.Object, "spec", "replicas")
	if err != nil {
		c.blame(o.GetNamespace(), fmt.Sprintf("the Deployment %s: %v", o.GetName(), err))
		return
	}
	if !found {
		replicas = 1
	}
	if observed, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration"); observed == o.GetGeneration() { //nolint:errcheck // another type is another number
		return
	}
	status := fmt.Appendf(nil, `{"status":{"observedGeneration":%d,"replicas":%d,"updatedReplicas":%[2]d,"readyReplicas":%[2]d,"availableReplicas":%[2]d}}`,
		o.GetGeneration(), replicas)
	if err := c.client.Status().Patch(ctx, o, client.RawPatch(types.MergePatchType, status)); client.IgnoreNotFound(err) != nil && ctx.Err() == nil {
		c.blame(o.GetNamespace(), fmt.Sprintf("the Deployment %s does not become ready: %v", o.GetName(), err))
	}
}

func (c *targetCluster) knows(uid types.UID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.seen[uid]
	c.seen[uid] = true
	return known
}

func (c *targetCluster) blame(namespace, fault string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults[namespace] = append(c.faults[namespace], fault)
}

func (c *targetCluster) blamed(namespace string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.faults[namespace]
}

// missing are the keys of Secrets that a Deployment's environment refers to and that do not exist.
func (c *targetCluster) missing(ctx context.Context, o *unstructured.Unstructured) []string {
	var out []string
	for _, ref := range secretKeys(o) {
		var secret corev1.Secret
		err := c.client.Get(ctx, client.ObjectKey{Namespace: o.GetNamespace(), Name: ref.name}, &secret)
		if _, has := secret.Data[ref.key]; err != nil || !has {
			out = append(out, fmt.Sprintf("the key %s of the Secret %s", ref.key, ref.name))
		}
	}
	return out
}

type secretKey struct{ name, key string }

func secretKeys(deployment *unstructured.Unstructured) (out []secretKey) {
	containers, _, _ := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers") //nolint:errcheck // none, then
	for _, container := range containers {
		env, _, _ := unstructured.NestedSlice(asMap(container), "env") //nolint:errcheck // none, then
		for _, variable := range env {
			ref, found, _ := unstructured.NestedStringMap(asMap(variable), "valueFrom", "secretKeyRef") //nolint:errcheck // none, then
			if found {
				out = append(out, secretKey{ref["name"], ref["key"]})
			}
		}
	}
	return out
}

func asMap(value any) map[string]any {
	m, _ := value.(map[string]any) //nolint:errcheck // nil is a map, too
	return m
}
