// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/yuba-dev/yuba/internal/gateway/registry/access"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

func TestMain(m *testing.M) { apitest.Main(m) }

func newClient(t *testing.T) kubernetes.Interface {
	t.Helper()
	api, err := kubernetes.NewForConfig(apitest.API(t).RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// tokenNamed is a token in the list; nil if it is not there.
func tokenNamed(t *testing.T, api kubernetes.Interface, name string) *listedToken {
	t.Helper()
	list, err := listTokens(t.Context(), api)
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(list, func(one listedToken) bool { return one.Name == name }); i >= 0 {
		return &list[i]
	}
	return nil
}

func TestTheListShowsTheRightsOfATokenUntilItIsDeleted(t *testing.T) {
	api := newClient(t)
	rights := access.Rights{Read: []string{"beta"}, Write: []string{"acme"}, Keys: []string{access.Everything}}
	if _, err := makeToken(t.Context(), api, "all", rights, time.Hour); err != nil {
		t.Fatal(err)
	}
	want := &listedToken{Name: "all", Read: rights.Read, Write: rights.Write, Keys: rights.Keys, ServiceAccount: "yuba-system/registry-all"}
	if diff := cmp.Diff(want, tokenNamed(t, api, "all")); diff != "" {
		t.Error(diff)
	}
	if err := deleteToken(t.Context(), api, "all"); err != nil {
		t.Error(err)
	}
	if left := tokenNamed(t, api, "all"); left != nil {
		t.Errorf("after its deletion: %+v", left)
	}
	if err := deleteToken(t.Context(), api, "all"); err == nil || !strings.Contains(err.Error(), "there is no token with this name") {
		t.Errorf("deleted again: %v", err)
	}
}

// Somebody deleted a part of a token with kubectl: the rest is seen and can be deleted.
func TestATokenWithoutAPartIsListedAndDeleted(t *testing.T) {
	api := newClient(t)
	for name, test := range map[string]struct {
		remove func(context.Context, string, metav1.DeleteOptions) error
		object string
		want   string
	}{
		"no-account": {api.CoreV1().ServiceAccounts(tokenNamespace).Delete, accountOfToken("no-account"), "service account is missing"},
		"no-role":    {api.RbacV1().ClusterRoles().Delete, roleOfToken("no-role"), "rights are missing"},
		"no-binding": {api.RbacV1().ClusterRoleBindings().Delete, roleOfToken("no-binding"), "rights are missing"},
	} {
		if _, err := makeToken(t.Context(), api, name, access.Rights{Read: []string{"acme"}}, time.Hour); err != nil {
			t.Fatal(err)
		}
		if err := test.remove(t.Context(), test.object, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if got := tokenNamed(t, api, name); got == nil || !strings.Contains(got.Problem, test.want) {
			t.Errorf("%s: %+v", name, got)
		}
		if err := deleteToken(t.Context(), api, name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := tokenNamed(t, api, name); got != nil {
			t.Errorf("%s after its deletion: %+v", name, got)
		}
	}
}

// A stolen token of CI opens the registry and nothing else.
func TestTheAPIRefusesATokenOfTheRegistry(t *testing.T) {
	api := newClient(t)
	token, err := makeToken(t.Context(), api, "stolen", access.Rights{Write: []string{"acme"}}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(apitest.API(t).RESTConfig())
	config.BearerToken = token.Token
	thief, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := thief.Discovery().ServerVersion(); !apierrors.IsUnauthorized(err) {
		t.Errorf("the API answers %v, want unauthorized", err)
	}
	reviews, err := access.NewAPI(api)
	if err != nil {
		t.Fatal(err)
	}
	if who, err := reviews.Identify(t.Context(), token.Token); err != nil || who.Name != "system:serviceaccount:yuba-system:registry-stolen" || !who.RegistryOnly {
		t.Errorf("the registry: %+v, %v", who, err)
	}
}
