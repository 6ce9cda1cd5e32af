// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package vault_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/testkit/bridgetest"
	"github.com/yuba-dev/yuba/internal/testkit/vaulttest"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// started are the controllers of this test binary.
var started struct {
	once sync.Once
	err  error
}

// leastPrivilege is what a bridge out needs, as docs/how-to/contracts.md has it.
const leastPrivilege = `path "secret/data/configuration/base" { capabilities = ["create", "read", "update", "delete"] }`

// world is a namespace whose document is published by a bridge in.
type world struct {
	*testing.T
	client.Client
	namespace string
	vault     *vaulttest.Server
}

func newWorld(t *testing.T) *world {
	t.Helper()
	started.once.Do(func() { _, started.err = bridgetest.Start(t, func(types.NamespacedName) {}) })
	if started.err != nil {
		t.Fatal(started.err)
	}
	w := &world{t, apitest.Client(t), apitest.Namespace(t), vaulttest.New(t)}
	w.create(&yubav1.Contract{ObjectMeta: metav1.ObjectMeta{Name: "base"}, Spec: yubav1.ContractSpec{Version: "1.0.0", Type: "object({ vpc_id = string })"}})
	w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "network"}, Data: map[string]string{"document.json": `{"vpc_id":"vpc-1"}`}})
	w.await(w.bridge("network", yubav1.ContractBridgeSpec{Direction: yubav1.BridgeIn, Version: "1.0.0",
		Store: yubav1.BridgeStore{ConfigMap: &yubav1.ObjectStore{Name: "network"}}}), yubav1.ReasonBridgeSynced, "revision 1")
	return w
}

func (w *world) create(o client.Object) {
	w.Helper()
	o.SetNamespace(w.namespace)
	if err := w.Create(w.Context(), o); err != nil {
		w.Fatal(err)
	}
}

func (w *world) bridge(name string, spec yubav1.ContractBridgeSpec) *yubav1.ContractBridge {
	w.Helper()
	spec.Contract = "base"
	b := &yubav1.ContractBridge{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
	w.create(b)
	return b
}

// toVault is a bridge out with a token of its own.
func (w *world) toVault(name, path, token string) *yubav1.ContractBridge {
	w.Helper()
	w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: map[string]string{"VAULT_TOKEN": token}})
	return w.bridge(name, yubav1.ContractBridgeSpec{Direction: yubav1.BridgeOut, From: &yubav1.BridgeProducer{Name: "network"}, Prune: true,
		Interval: metav1.Duration{Duration: 10 * time.Second},
		Store: yubav1.BridgeStore{Vault: &yubav1.VaultStore{Address: w.vault.URL, Path: path},
			CredentialsSecret: &yubav1.BridgeSecretReference{Name: name}}})
}

func (w *world) await(b *yubav1.ContractBridge, reason string, says ...string) {
	w.Helper()
	w.eventually("bridge "+b.Name+" is "+reason+": "+strings.Join(says, " … "), func() string {
		if err := w.Get(w.Context(), client.ObjectKeyFromObject(b), b); err != nil {
			return err.Error()
		}
		c := conditions.Of(b, infrav1.ConditionReady)
		for _, one := range says {
			if c.Reason != reason || !strings.Contains(c.Message, one) {
				return c.Reason + ": " + c.Message
			}
		}
		return ""
	})
}

func (w *world) eventually(what string, wrong func() string) {
	w.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		is := wrong()
		if is == "" {
			return
		}
		if time.Now().After(deadline) {
			w.Fatalf("%s; but: %s", what, is)
		}
	}
}

// holds is the document in Vault; nil for none.
func (w *world) holds() any {
	w.Helper()
	out := w.vault.Do(w, http.MethodGet, "secret/data/configuration/base", nil)
	data, _ := out["data"].(map[string]any)
	document, _ := data["data"].(map[string]any)
	return document["vpc_id"]
}

// TestLeastPrivilege: a token needs no more than one path, and another path is a clear error.
func TestLeastPrivilege(t *testing.T) {
	w := newWorld(t)
	token := w.vault.Limited(t, "bridge", leastPrivilege)
	b := w.toVault("allowed", "configuration/base", token)
	w.await(b, yubav1.ReasonBridgeSynced, "vault secret/configuration/base has revision 1 of contract base 1.0.0")
	if got := w.holds(); got != "vpc-1" {
		t.Errorf("Vault has %v", got)
	}
	denied := w.toVault("denied", "configuration/other", token)
	w.await(denied, yubav1.ReasonBridgeUnreachable, "read vault secret/configuration/other: Vault answers 403", "permission denied",
		`lack the capabilities read on the path "secret/data/configuration/other"`)
	readOnly := w.toVault("read-only", "configuration/read-only", w.vault.Limited(t, "read", `path "secret/data/configuration/read-only" { capabilities = ["read"] }`))
	w.await(readOnly, yubav1.ReasonBridgeUnreachable, "write vault", `lack the capabilities create, update on the path "secret/data/configuration/read-only"`)
	for _, one := range []*yubav1.ContractBridge{denied, readOnly} {
		if message := conditions.Of(one, infrav1.ConditionReady).Message; strings.Contains(message, token) {
			t.Error("the condition has the token:", message)
		}
	}

	// A token that is revoked is an error, and a new one in the Secret is used at once.
	w.vault.Do(t, http.MethodPost, "auth/token/revoke", map[string]string{"token": token})
	w.await(b, yubav1.ReasonBridgeUnreachable, "Vault answers 403")
	var s corev1.Secret
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(b), &s); err != nil {
		t.Fatal(err)
	}
	s.Data["VAULT_TOKEN"] = []byte(w.vault.Limited(t, "bridge", leastPrivilege))
	if err := w.Update(t.Context(), &s); err != nil {
		t.Fatal(err)
	}
	w.await(b, yubav1.ReasonBridgeSynced, "revision 1")
}

// TestSealed: a sealed Vault is named, keeps nothing from being noticed later, and loses nothing.
func TestSealed(t *testing.T) {
	w := newWorld(t)
	b := w.toVault("base", "configuration/base", w.vault.Limited(t, "bridge", leastPrivilege))
	w.await(b, yubav1.ReasonBridgeSynced, "revision 1")
	w.vault.Seal(t)
	var m corev1.ConfigMap
	if err := w.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "network"}, &m); err != nil {
		t.Fatal(err)
	}
	m.Data["document.json"] = `{"vpc_id":"vpc-2"}`
	if err := w.Update(t.Context(), &m); err != nil {
		t.Fatal(err)
	}
	w.await(b, yubav1.ReasonBridgeUnreachable, "Vault answers 503: Vault is sealed", "tried again until Vault is unsealed")
	w.vault.Unseal(t)
	w.await(b, yubav1.ReasonBridgeSynced, "revision 2")
	if got := w.holds(); got != "vpc-2" {
		t.Errorf("Vault has %v", got)
	}
}
