// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

func TestRolesKnowYubasKinds(t *testing.T) {
	namespace := newNamespace(t, shared)
	client := clientOf(t, shared)
	for _, role := range []string{"view", "edit", "admin"} {
		binding := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role},
			Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: role}},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		}
		if _, err := client.RbacV1().RoleBindings(namespace).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	everybody, editors, nobody := []string{"view", "edit", "admin"}, []string{"edit", "admin"}, []string{}
	for sentence, test := range map[string]struct {
		verb, group, resource string
		may                   []string
	}{
		"everybody lists stacks":                    {"list", "infra.contrib.fluxcd.io", "terraforms", everybody},
		"editors create stacks":                     {"create", "infra.contrib.fluxcd.io", "terraforms", editors},
		"editors delete stacks":                     {"delete", "infra.contrib.fluxcd.io", "terraforms", editors},
		"everybody gets a stack's status":           {"get", "infra.contrib.fluxcd.io", "terraforms/status", everybody},
		"nobody writes a stack's status":            {"update", "infra.contrib.fluxcd.io", "terraforms/status", nobody},
		"everybody watches artifacts":               {"watch", "source.toolkit.fluxcd.io", "externalartifacts", everybody},
		"editors patch artifacts":                   {"patch", "source.toolkit.fluxcd.io", "externalartifacts", editors},
		"everybody reads logs":                      {"get", "content.yuba.dev", "terraforms/log", everybody},
		"everybody reads plans":                     {"get", "content.yuba.dev", "terraforms/plan", everybody},
		"everybody reads runs":                      {"get", "content.yuba.dev", "terraforms/runs", everybody},
		"everybody reads explanations":              {"get", "content.yuba.dev", "terraforms/why", everybody},
		"editors read states, which hold secrets":   {"get", "content.yuba.dev", "terraforms/state", editors},
		"editors read outputs, which may be secret": {"get", "content.yuba.dev", "terraforms/outputs", editors},
		"editors list a state's versions":           {"get", "content.yuba.dev", "terraforms/versions", editors},
		"editors go back to an older state":         {"create", "content.yuba.dev", "terraforms/rollback", editors},
		"editors release locks":                     {"create", "content.yuba.dev", "terraforms/unlock", editors},
		"only administrators of all take backups":   {"get", "content.yuba.dev", "backup", nobody},
		"editors upload archives":                   {"create", "content.yuba.dev", "externalartifacts/archive", editors},
		"editors lock states":                       {"create", "coordination.k8s.io", "leases", editors},
	} {
		t.Run(sentence, func(t *testing.T) {
			eventually(t, "the roles are aggregated", func() error {
				var may []string
				for _, user := range everybody {
					if allowed(t, client, user, namespace, test.verb, test.group, test.resource) {
						may = append(may, user)
					}
				}
				if !slices.Equal(may, test.may) {
					return fmt.Errorf("%v may, want %v", may, test.may)
				}
				return nil
			})
		})
	}
}

func allowed(t *testing.T, client *kubernetes.Clientset, user, namespace, verb, group, resource string) bool {
	t.Helper()
	resource, sub, _ := strings.Cut(resource, "/")
	review, err := client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: verb, Group: group, Resource: resource, Subresource: sub}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return review.Status.Allowed
}

func TestStrangersSeeHealthOnly(t *testing.T) {
	client, err := rest.HTTPClientFor(rest.AnonymousClientConfig(shared.RESTConfig()))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{
		"/livez": http.StatusOK, "/readyz": http.StatusOK, "/healthz": http.StatusOK,
		"/version": http.StatusUnauthorized, "/api": http.StatusUnauthorized, "/metrics": http.StatusUnauthorized,
		"/api/v1/namespaces/default/secrets": http.StatusUnauthorized, "/openid/v1/jwks": http.StatusUnauthorized,
		"/debug/pprof/": http.StatusUnauthorized, mounted + "who": http.StatusUnauthorized,
	} {
		response, err := client.Get("https://" + shared.Address() + path)
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
