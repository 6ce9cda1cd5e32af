// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package access_test

import (
	"encoding/base64"
	"errors"
	"net"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/yuba-dev/yuba/internal/gateway/registry"
	"github.com/yuba-dev/yuba/internal/gateway/registry/access"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

func TestMain(m *testing.M) { apitest.Main(m) }

func newAPI(t *testing.T, config *rest.Config) (*access.API, kubernetes.Interface) {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	a, err := access.NewAPI(client)
	if err != nil {
		t.Fatal(err)
	}
	return a, client
}

// newAccount is a service account with rights on the modules of acme.
func newAccount(t testing.TB, api kubernetes.Interface, name string, verbs ...string) *corev1.ServiceAccount {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"content.yuba.dev"}, Resources: []string{"modules"}, ResourceNames: []string{"acme"}, Verbs: verbs}}}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: account.Namespace, Name: name}}}
	_, err := api.CoreV1().ServiceAccounts(account.Namespace).Create(t.Context(), account, metav1.CreateOptions{})
	if err == nil {
		_, err = api.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{})
	}
	if err == nil {
		_, err = api.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return account
}

func TestTheAPIDecides(t *testing.T) {
	a, api := newAPI(t, apitest.API(t).RESTConfig())
	ctx := t.Context()
	account := newAccount(t, api, "registry-ci", "get", "update")
	namespace, name := account.Namespace, account.Name
	token, err := api.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	who, err := a.Identify(ctx, token.Status.Token)
	if err != nil || who.Name != "system:serviceaccount:default:registry-ci" {
		t.Fatalf("%+v, %v", who, err)
	}
	for what, want := range map[registry.Action]bool{
		{Verb: "update", Resource: "modules", Name: "acme"}:   true,
		{Verb: "get", Resource: "modules", Name: "acme"}:      true,
		{Verb: "patch", Resource: "modules", Name: "acme"}:    false,
		{Verb: "update", Resource: "modules", Name: "beta"}:   false,
		{Verb: "update", Resource: "providers", Name: "acme"}: false,
		{Verb: "list", Resource: "modules"}:                   false,
	} {
		if allowed, reason, err := a.May(ctx, who, what); err != nil || allowed != want {
			t.Errorf("%+v: %v (%s), %v", what, allowed, reason, err)
		}
	}
	// What a run's service account may do is decided as for its token.
	if allowed, _, err := a.May(ctx, registry.ServiceAccount(namespace, name), registry.Action{Verb: "get", Resource: "modules", Name: "acme"}); err != nil || !allowed {
		t.Errorf("the service account: %v, %v", allowed, err)
	}
	for _, wrong := range []string{"nonsense", token.Status.Token + "x"} {
		if _, err := a.Identify(ctx, wrong); !errors.Is(err, registry.ErrUnknownToken) {
			t.Errorf("another token: %v", err)
		}
	}
}

// While the API does not answer, nobody knows whether a token is valid: to call it invalid would make
// people replace it.
func TestAnAPIThatDoesNotAnswer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	a, _ := newAPI(t, &rest.Config{Host: "http://" + address})
	if _, err := a.Identify(t.Context(), "a-token"); err == nil || errors.Is(err, registry.ErrUnknownToken) {
		t.Errorf("who has a token: %v", err)
	}
	if allowed, _, err := a.May(t.Context(), registry.ServiceAccount("a", "b"), registry.Action{Verb: "get", Resource: "modules", Name: "acme"}); err == nil || allowed {
		t.Errorf("what somebody may do: %v, %v", allowed, err)
	}
}

// Tokens for the registry and tokens for the API are accepted; those for others are not.
func TestAudiencesOfTokens(t *testing.T) {
	a, api := newAPI(t, apitest.API(t).RESTConfig())
	account := newAccount(t, api, "registry-audiences", "get")
	const apiAudience = "https://kubernetes.default.svc"
	for sentence, test := range map[string]struct {
		audiences    []string
		known        bool
		registryOnly bool
	}{
		"for the API":                  {nil, true, false},
		"for the registry":             {[]string{access.Audience}, true, true},
		"for the registry and the API": {[]string{access.Audience, apiAudience}, true, false},
		"for a cloud":                  {[]string{"sts.amazonaws.com"}, false, false},
	} {
		token, err := api.CoreV1().ServiceAccounts(account.Namespace).CreateToken(t.Context(), account.Name,
			&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: test.audiences}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time from memory
			who, err := a.Identify(t.Context(), token.Status.Token)
			if (err == nil) != test.known || who.RegistryOnly != test.registryOnly {
				t.Errorf("%s: %+v, %v", sentence, who, err)
			}
			if !test.known && !errors.Is(err, registry.ErrUnknownToken) {
				t.Errorf("%s: %v", sentence, err)
			}
		}
	}
}

// The answer to an expired token says so; that to a forged one says nothing else.
func TestAnExpiredTokenIsSaidToBe(t *testing.T) {
	a, _ := newAPI(t, apitest.API(t).RESTConfig())
	encoded := base64.RawURLEncoding.EncodeToString
	token := encoded([]byte(`{"alg":"RS256"}`)) + "." + encoded([]byte(`{"aud":["registry.yuba.dev"],"exp":1700000000,"sub":"somebody"}`)) + "." + encoded([]byte("signature"))
	_, err := a.Identify(t.Context(), token)
	var expired *registry.ExpiredError
	if !errors.As(err, &expired) || !errors.Is(err, registry.ErrUnknownToken) || !strings.Contains(err.Error(), "2023-11-14T22:13:20Z") {
		t.Errorf("%v", err)
	}
}
