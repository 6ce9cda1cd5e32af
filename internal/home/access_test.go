// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package home

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

func allowed(t *testing.T, client *kubernetes.Clientset, user, namespace, verb, group, resource string) bool {
	t.Helper()
	resource, sub, _ := strings.Cut(resource, "/")
	request := reviewOf(user, namespace, verb, resource)
	request.Spec.ResourceAttributes.Group, request.Spec.ResourceAttributes.Subresource = group, sub
	review, err := client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), request, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return review.Status.Allowed
}

func reviewOf(user, namespace, verb, resource string) *authorizationv1.SubjectAccessReview {
	return &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user,
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Resource: resource}}}
}

func TestStrangersSeeHealthOnly(t *testing.T) {
	seenByStrangers(t, shared, map[string]int{
		"/livez": http.StatusOK, "/readyz": http.StatusOK, "/healthz": http.StatusOK,
		"/version": http.StatusUnauthorized, "/api": http.StatusUnauthorized, "/metrics": http.StatusUnauthorized,
		"/api/v1/namespaces/default/secrets": http.StatusUnauthorized, "/openid/v1/jwks": http.StatusUnauthorized,
		"/debug/pprof/": http.StatusUnauthorized, mounted + "who": http.StatusUnauthorized,
	})
}

// seenByStrangers asks for paths without credentials.
func seenByStrangers(t *testing.T, p *ControlPlane, paths map[string]int) {
	t.Helper()
	client, err := rest.HTTPClientFor(rest.AnonymousClientConfig(p.RESTConfig()))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range paths {
		response, err := client.Get("https://" + p.Address() + path)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("GET %s answers %d, want %d", path, response.StatusCode, want)
		}
	}
}

// mounted is a path that the shared API's Mount serves.
const mounted = "/apis/content.yuba.dev/v1alpha1/"

// mountWho serves the name of whoever asks.
func mountWho(*rest.Config) (map[string]http.Handler, error) {
	return map[string]http.Handler{mounted: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, _ := request.UserFrom(r.Context())
		info, _ := request.RequestInfoFrom(r.Context())
		fmt.Fprintf(w, "%s %s %s/%s in %s", user.GetName(), info.Verb, info.Resource, info.Subresource, info.Namespace)
	})}, nil
}

func TestMountedHandlerIsBehindAuthorisation(t *testing.T) {
	namespace := newNamespace(t, shared)
	path := mounted + "namespaces/" + namespace + "/terraforms/vpc/log"
	get := func(change func(*rest.Config)) (string, error) {
		config := shared.RESTConfig()
		change(config)
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		data, err := client.RESTClient().Get().AbsPath(path).DoRaw(t.Context())
		return string(data), err
	}
	got, err := get(func(*rest.Config) {})
	if want := "system:apiserver get terraforms/log in " + namespace; err != nil || got != want {
		t.Errorf("administrator: %q, error %v, want %q", got, err, want)
	}
	if _, err := get(func(c *rest.Config) { c.Impersonate.UserName = "nobody" }); !apierrors.IsForbidden(err) {
		t.Errorf("user without a role: %v, want forbidden", err)
	}
}

func TestKubeconfigIsTheAdministrators(t *testing.T) {
	config, err := clientcmd.BuildConfigFromFlags("", shared.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Secrets("").List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
}

func TestSecretsAreEncryptedAtRest(t *testing.T) {
	namespace := newNamespace(t, shared)
	client := clientOf(t, shared).CoreV1()
	content := "the-content-that-nobody-sees"
	_, err := client.Secrets(namespace).Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "sealed"}, StringData: map[string]string{"key": content}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stored := rawValue(t, shared, "/registry/secrets/"+namespace+"/sealed")
	if !bytes.HasPrefix(stored, []byte("k8s:enc:secretbox:v1:")) {
		t.Errorf("the stored Secret starts with %.30q", stored)
	}
	if bytes.Contains(stored, []byte(content)) {
		t.Error("the stored Secret shows its content")
	}
	read, err := client.Secrets(namespace).Get(t.Context(), "sealed", metav1.GetOptions{})
	if err != nil || string(read.Data["key"]) != content {
		t.Errorf("read %q, error %v", read.Data["key"], err)
	}
}

// rawValue reads a key from etcd with the API server's certificate.
func rawValue(t *testing.T, p *ControlPlane, key string) []byte {
	t.Helper()
	pair, err := p.keys.etcdClient.Load()
	if err != nil {
		t.Fatal(err)
	}
	config := p.keys.etcdTLS().Clone()
	config.RootCAs, config.GetCertificate = p.keys.etcd.Pool(), nil
	config.Certificates = append(config.Certificates, *pair)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{p.etcd.Endpoint()}, TLS: config,
		Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	response, err := client.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if len(response.Kvs) != 1 {
		t.Fatalf("etcd has %d values for %s", len(response.Kvs), key)
	}
	return response.Kvs[0].Value
}

func TestAPIsCertificateDoesNotOpenEtcd(t *testing.T) {
	admin, err := shared.keys.admin.Load()
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: shared.keys.etcdTLS().Clone()}
	transport.TLSClientConfig.RootCAs = shared.keys.etcd.Pool()
	transport.TLSClientConfig.GetCertificate = nil
	transport.TLSClientConfig.Certificates = append(transport.TLSClientConfig.Certificates, *admin)
	response, err := (&http.Client{Transport: transport}).Get(shared.etcd.Endpoint() + "/health")
	if err == nil {
		body, _ := io.ReadAll(response.Body)
		response.Body.Close()
		t.Errorf("etcd answered the administrator of the API: %s", body)
	} else if !strings.Contains(err.Error(), "certificate") {
		t.Errorf("error %v, want one about the certificate", err)
	}
}
