// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

func clientKey(o client.Object) client.ObjectKey { return client.ObjectKeyFromObject(o) }

func TestNothingIsInstalledWithTheRightsOfTheServer(t *testing.T) {
	w := newWorld(t)
	w.publish("1.0.0", simple("1.0.0"))
	hr := w.release(func(hr *helmv2.HelmRelease) { hr.Spec.ServiceAccountName = "" })
	has(t, w.notReady(hr, "AccessDenied"), "spec.serviceAccountName is missing", "never with the server's")
	w.change(hr, func(hr *helmv2.HelmRelease) { hr.Spec.ServiceAccountName = "nobody" })
	has(t, w.notReady(hr, "AccessDenied"), "the service account "+w.namespace+"/nobody does not exist")
	w.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "weak"}})
	w.change(hr, func(hr *helmv2.HelmRelease) { hr.Spec.ServiceAccountName = "weak" })
	w.await(hr, "forbidden", func(hr *helmv2.HelmRelease) bool {
		c := condition(hr, meta.ReadyCondition)
		return c.Status == metav1.ConditionFalse && c.ObservedGeneration == hr.Generation
	})
	has(t, condition(hr, meta.ReadyCondition).Message, "system:serviceaccount:"+w.namespace+":weak", "forbidden")
}

// A role in its own namespace is not one in another.
func TestAReleaseStaysInItsNamespace(t *testing.T) {
	w, other := newWorld(t), newWorld(t)
	w.publish("1.0.0", simple("1.0.0"))
	hr := w.release(func(hr *helmv2.HelmRelease) { hr.Spec.TargetNamespace = other.namespace })
	w.stalled(hr, "RetriesExceeded")
	has(t, w.notReady(hr, helmv2.InstallFailedReason), "forbidden")
}

// config is the test's access to the API, without files.
func (w *world) config() *rest.Config {
	w.t.Helper()
	config := rest.CopyConfig(apitest.API(w.t).RESTConfig())
	w.must(rest.LoadTLSFiles(config))
	return config
}

// kubeconfig is one of the test's API as its administrator.
func (w *world) kubeconfig() []byte {
	w.t.Helper()
	config := w.config()
	c := clientcmdapi.NewConfig()
	c.Clusters["x"] = &clientcmdapi.Cluster{Server: config.Host, TLSServerName: config.ServerName, CertificateAuthorityData: config.CAData}
	c.AuthInfos["x"] = &clientcmdapi.AuthInfo{Token: config.BearerToken, ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}
	c.Contexts["x"] = &clientcmdapi.Context{Cluster: "x", AuthInfo: "x"}
	c.CurrentContext = "x"
	content, err := clientcmd.Write(*c)
	w.must(err)
	return content
}

func TestAReleaseInAnotherCluster(t *testing.T) {
	w := newWorld(t)
	w.publish("1.0.0", simple("1.0.0"))
	hr := w.release(func(hr *helmv2.HelmRelease) {
		hr.Spec.ServiceAccountName = ""
		hr.Spec.KubeConfig = &meta.KubeConfigReference{SecretRef: &meta.SecretKeyReference{Name: "cluster"}}
	})
	has(t, w.notReady(hr, "AccessDenied"), "the Secret "+w.namespace+"/cluster of spec.kubeConfig does not exist")
	w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}, Data: map[string][]byte{"value": w.kubeconfig()}})
	w.ready(hr)
	w.settingsAre("greeting", "hello")
	w.must(w.c.Delete(t.Context(), hr))
	w.gone(hr, "app")
	w.gone(&corev1.ConfigMap{}, "settings")
}

// The other cluster is our own, with an authority that did not sign its certificate: the token is made,
// and sent to nobody.
func TestAReleaseInAClusterThatTrustsOurTokens(t *testing.T) {
	w := newWorld(t)
	w.publish("1.0.0", simple("1.0.0"))
	config := w.config()
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}, Data: map[string]string{"provider": "aws", "address": config.Host, "ca.crt": string(config.CAData)}}
	w.create(m)
	hr := w.release(func(hr *helmv2.HelmRelease) {
		hr.Spec.ServiceAccountName = ""
		hr.Spec.KubeConfig = &meta.KubeConfigReference{ConfigMapRef: &meta.LocalObjectReference{Name: "cluster"}}
	})
	has(t, w.notReady(hr, "AccessDenied"), "requests cloud credentials, which are not supported")
	m.Data["provider"] = "generic"
	w.must(w.c.Update(t.Context(), m))
	w.await(hr, "an account is missing", func(hr *helmv2.HelmRelease) bool {
		return condition(hr, meta.ReadyCondition).Message == "the ConfigMap "+w.namespace+"/cluster of spec.kubeConfig needs address and serviceAccountName"
	})
	m.Data["serviceAccountName"], m.Data["audiences"] = "deployer", "[]"
	w.must(w.c.Update(t.Context(), m))
	w.await(hr, "the cluster is verified", func(hr *helmv2.HelmRelease) bool {
		return strings.Contains(condition(hr, meta.ReadyCondition).Message, "the cluster cannot be reached: its certificate is signed by an untrusted authority")
	})
}

func TestBadSpecs(t *testing.T) {
	for sentence, c := range map[string]struct {
		change       func(*helmv2.HelmRelease)
		reason, want string
	}{
		"a source of another namespace": {func(hr *helmv2.HelmRelease) { hr.Spec.ChartRef.Namespace = "other" }, "AccessDenied", "cross-namespace references have been blocked"},
		"a source that does not exist":  {func(hr *helmv2.HelmRelease) { hr.Spec.ChartRef.Name = "other" }, "SourceNotReady", "does not exist"},
		"a dependency on itself":        {func(hr *helmv2.HelmRelease) { hr.Spec.DependsOn = []helmv2.DependencyReference{{Name: "app"}} }, "DependencyCycle", "spec.dependsOn is a cycle: "},
		"an expression that is none": {func(hr *helmv2.HelmRelease) {
			hr.Spec.DependsOn = []helmv2.DependencyReference{{Name: "b", ReadyExpr: "("}}
		}, "InvalidCELExpression", "readyExpr"},
		"a health check that is none": {func(hr *helmv2.HelmRelease) {
			hr.Spec.HealthCheckExprs = []kustomize.CustomHealthCheck{{APIVersion: "v1", Kind: "ConfigMap", HealthCheckExpressions: kustomize.HealthCheckExpressions{Current: "data."}}}
		}, "InvalidCELExpression", "healthCheckExprs[0]"},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t)
			w.publish("1.0.0", simple("1.0.0"))
			hr := w.release(c.change)
			has(t, w.notReady(hr, c.reason), c.want)
		})
	}
}
