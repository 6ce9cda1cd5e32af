// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/contracts/bridge/store"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

// A bridge of a tenant must not publish what other services of the server's network answer.
func TestBridgesReachOnlyAllowedPrivateEndpoints(t *testing.T) {
	asked := 0
	internal := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("ETag", `"1"`)
		_, _ = w.Write([]byte(`{"token":"of another service"}`)) // the test sees what is missing
	}))
	t.Cleanup(internal.Close)
	host := strings.TrimPrefix(internal.URL, "http://")
	r := &Reconciler{Direct: apitest.Client(t), Outside: store.Client(nil)}
	credentials := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: apitest.Namespace(t), Name: "keys"},
		StringData: map[string]string{keyID: "a", keySecret: "b", keyVault: "c"}}
	if err := r.Direct.Create(t.Context(), credentials); err != nil {
		t.Fatal(err)
	}
	stores := map[string]yubav1.BridgeStore{
		"s3":    {S3: &yubav1.S3Store{Bucket: "api", Key: "v1/token", Region: "eu-west-1", Endpoint: internal.URL}},
		"ssm":   {SSM: &yubav1.SSMStore{Name: "/token", Region: "eu-west-1", Endpoint: internal.URL}},
		"vault": {Vault: &yubav1.VaultStore{Address: internal.URL, Path: "token"}},
	}
	read := func(name string) error {
		b := &yubav1.ContractBridge{ObjectMeta: metav1.ObjectMeta{Namespace: credentials.Namespace, Name: name}}
		b.Spec.Store = stores[name]
		b.Spec.Store.CredentialsSecret = &yubav1.BridgeSecretReference{Name: credentials.Name}
		s, err := r.open(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Read(t.Context())
		return err
	}
	for name := range stores {
		var private *store.PrivateError
		if err := read(name); err == nil || !errors.As(err, &private) && !strings.Contains(err.Error(), "--contract-store-endpoints") || !strings.Contains(err.Error(), host) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if asked > 0 {
		t.Errorf("the service was asked %d times", asked)
	}
	r.Outside = store.Client([]string{"127.0.0.1:1"})
	if err := read("s3"); err == nil {
		t.Error("another port of an allowed host is reached")
	}
	r.Outside = store.Client([]string{host})
	if err := read("s3"); err != nil || asked != 1 {
		t.Errorf("an allowed endpoint was asked %d times: %v", asked, err)
	}
}

func TestLabelsOfLongNamesAreValid(t *testing.T) {
	long := strings.Repeat("a", 62) + "." + strings.Repeat("b", 100)
	for _, name := range []string{"base", strings.Repeat("a", 63), long, strings.Repeat("a", 53) + ".." + long} {
		if wrong := validation.IsValidLabelValue(labelOf(name)); len(wrong) > 0 {
			t.Errorf("%s: %v", labelOf(name), wrong)
		}
	}
	if labelOf("base") != "base" || labelOf(long) == labelOf(long+"c") {
		t.Error("a label is not the one of its bridge")
	}
}
