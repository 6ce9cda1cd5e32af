// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package vault_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/platform/vaultinit"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/testkit/vaulttest"
)

// TestExternalSecretsReads: the service account of External Secrets logs in to a new Vault with its token of the cluster,
// reads secrets, and can do nothing else; another account cannot log in.
func TestExternalSecretsReads(t *testing.T) {
	c, ns, config := apitest.Client(t), apitest.Namespace(t), apitest.API(t).RESTConfig()
	for _, name := range []string{"external-secrets", "other"} {
		if err := c.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Create(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "vault-login-" + ns},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:auth-delegator"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: ns, Name: "external-secrets"}}}); err != nil {
		t.Fatal(err)
	}
	token := func(name string) string {
		request := &authenticationv1.TokenRequest{}
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
		if err := c.SubResource("token").Create(t.Context(), account, request); err != nil {
			t.Fatal(err)
		}
		return request.Status.Token
	}
	// The loopback configuration of tests has an authority of its own; others use the published one.
	var published corev1.ConfigMap
	for deadline := time.Now().Add(time.Minute); published.Data["ca.crt"] == ""; time.Sleep(20 * time.Millisecond) {
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "kube-root-ca.crt"}, &published); err != nil && time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	vault := vaulttest.Start(t, "")
	_, err = vaultinit.Run(t.Context(), vaultinit.Options{Address: vault.URL, KeyFile: filepath.Join(t.TempDir(), "keys.json"),
		Recipients: []age.Recipient{identity.Recipient()}, RecipientTexts: []string{identity.Recipient().String()},
		Reader: &vaultinit.Reader{Namespace: ns, ServiceAccount: "external-secrets", Host: config.Host, CA: []byte(published.Data["ca.crt"])}})
	if err != nil {
		t.Fatal(err)
	}
	login := func(name string) (int, string) {
		body, err := json.Marshal(map[string]string{"role": "external-secrets", "jwt": token(name)})
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.Post(vault.URL+"/v1/auth/kubernetes/login", "application/json", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close() //nolint:errcheck // only read
		if answer.StatusCode != http.StatusOK {
			refusal, err := io.ReadAll(answer.Body)
			t.Logf("%s: %s (%v)", name, refusal, err)
			return answer.StatusCode, ""
		}
		var out struct {
			Auth struct {
				ClientToken string   `json:"client_token"`
				Policies    []string `json:"policies"`
			} `json:"auth"`
		}
		json.NewDecoder(answer.Body).Decode(&out) //nolint:errcheck // a refusal has none
		if got := strings.Join(out.Auth.Policies, " "); out.Auth.ClientToken != "" && got != "external-secrets" {
			t.Errorf("its policies are %s", got)
		}
		return answer.StatusCode, out.Auth.ClientToken
	}
	if code, _ := login("other"); code != http.StatusForbidden {
		t.Errorf("another account logs in: %d", code)
	}
	code, reader := login("external-secrets")
	if code != http.StatusOK {
		t.Fatalf("External Secrets logs in: %d", code)
	}
	for path, want := range map[string]int{"secret/data/missing": http.StatusNotFound, "sys/mounts": http.StatusForbidden, "sys/policies/acl/root": http.StatusForbidden} {
		if code, body := get(t, vault.URL+"/v1/"+path, reader); code != want {
			t.Errorf("%s: %d %s, want %d", path, code, body, want)
		}
	}
}
