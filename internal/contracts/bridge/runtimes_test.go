// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bridge_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/contracts/revisions"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

func output(of, value string, sensitive bool) json.RawMessage {
	text := `{"sensitive":false,"type":` + of + `,"value":` + value + `}`
	if sensitive {
		text = strings.Replace(text, "false", "true", 1)
	}
	return json.RawMessage(text)
}

// outputsTo makes a bridge of outputs in a namespace.
func (w *world) outputsTo(namespace, name string, store yubav1.BridgeStore, outputs ...string) *yubav1.ContractBridge {
	w.Helper()
	b := &yubav1.ContractBridge{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: yubav1.ContractBridgeSpec{Direction: yubav1.BridgeOut,
		Outputs: outputs, From: &yubav1.BridgeProducer{Name: "network", Namespace: w.namespace}, Store: store, Prune: true}}
	w.create(b)
	return b
}

// TestOutputsWithoutAContract: outputs of a stack go to a Secret and a ConfigMap, also of another namespace
// that the stack grants them to.
func TestOutputsWithoutAContract(t *testing.T) {
	w := newWorld(t)
	other, stranger := apitest.Namespace(t), apitest.Namespace(t)
	outputs := map[string]json.RawMessage{"vpc": output(`"string"`, `"vpc-1"`, false), "zones": output(`["list","string"]`, `["a","b"]`, false),
		"password": output(`"string"`, `"hunter2"`, true)}
	object := &yubav1.ObjectStore{Name: "network", Attributes: true, Reload: true}
	b := w.outputsTo(other, "network", yubav1.BridgeStore{Secret: object}, "*")
	w.await(b, yubav1.ReasonBridgeWaiting, "the stack "+w.namespace+"/network does not exist, or does not grant its outputs to namespace "+other+" (spec.outputGrants)")
	w.apply("sha256:1", outputs, infrav1.OutputGrant{Namespaces: []string{other}})
	w.await(b, yubav1.ReasonBridgeSynced, "secret "+other+"/network has revision 1 of the outputs of "+w.namespace+"/network")
	if !strings.HasPrefix(b.Status.Synced, "hmac-sha256:") {
		t.Error("a sensitive value has the guessable digest", b.Status.Synced)
	}
	var s corev1.Secret
	key := client.ObjectKey{Namespace: other, Name: "network"}
	if err := w.Get(t.Context(), key, &s); err != nil {
		t.Fatal(err)
	}
	if string(s.Data["password"]) != "hunter2" || string(s.Data["zones"]) != `["a","b"]` || string(s.Data["document.json"]) != `{"password":"hunter2","vpc":"vpc-1","zones":["a","b"]}` ||
		s.Annotations["reloader.stakater.com/match"] != "true" {
		t.Fatal(s.Data, s.Annotations)
	}
	c := w.outputsTo(other, "open", yubav1.BridgeStore{ConfigMap: object}, "*")
	w.await(c, yubav1.ReasonBridgeInvalid, "the outputs of "+w.namespace+"/network have private parts, which a ConfigMap does not protect. Use a Secret, or leave them out with spec.outputs")
	w.change(c, func(b *yubav1.ContractBridge) { b.Spec.Outputs = []string{"vpc", "zones"} })
	w.await(c, yubav1.ReasonBridgeSynced, "configmap "+other+"/network has revision")
	w.await(w.outputsTo(other, "missing", yubav1.BridgeStore{Secret: &yubav1.ObjectStore{Name: "missing"}}, "vpc", "subnet"), yubav1.ReasonBridgeWaiting, `has no output "subnet"`)
	w.await(w.outputsTo(stranger, "network", yubav1.BridgeStore{Secret: object}, "*"), yubav1.ReasonBridgeWaiting, "does not grant its outputs to namespace "+stranger)

	outputs = map[string]json.RawMessage{"vpc": output(`"string"`, `"vpc-2"`, false), "zones": outputs["zones"], "password": outputs["password"]}
	w.apply("sha256:2", outputs)
	w.await(b, yubav1.ReasonBridgeSynced, "revision 2")
	w.eventually("the ConfigMap has the new output", func() string {
		var m corev1.ConfigMap
		if err := w.Get(t.Context(), key, &m); err != nil || m.Data["vpc"] != "vpc-2" || m.Data["password"] != "" {
			return m.Data["vpc"]
		}
		return ""
	})
	// What cannot be read does not empty the Secret.
	w.apply("sha256:3", nil)
	w.await(b, yubav1.ReasonBridgeWaiting, "has no outputs, or they cannot be read without tofu")
	if err := w.Get(t.Context(), key, &s); err != nil || string(s.Data["vpc"]) != "vpc-2" {
		t.Error(s.Data, err)
	}
	w.tells(other, yubav1.ReasonBridgeSynced, "revision 2 of the outputs", "hunter2", "vpc-2")
	if err := w.Client.Delete(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	w.eventually("the Secret and the revisions go with the bridge", func() string {
		if err := w.Get(t.Context(), key, &s); !apierrors.IsNotFound(err) {
			return "the Secret is still there"
		}
		stacks, err := shared.book.Store.Stacks(t.Context())
		if err != nil || slices.ContainsFunc(stacks, func(h revisions.Held) bool { return h.Salt == string(b.UID) }) {
			return "the revisions are still there"
		}
		return ""
	})
}

// kubeconfigOf writes a configuration as a kubeconfig that names no files.
func kubeconfigOf(t *testing.T, config *rest.Config) []byte {
	t.Helper()
	content, err := clientcmd.Write(clientcmdapi.Config{CurrentContext: "c",
		Clusters:  map[string]*clientcmdapi.Cluster{"c": {Server: config.Host, CertificateAuthorityData: config.CAData, TLSServerName: config.ServerName}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{"c": {Token: config.BearerToken, ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}},
		Contexts:  map[string]*clientcmdapi.Context{"c": {Cluster: "c", AuthInfo: "c"}}})
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// TestAnotherCluster: a revision and outputs go to the cluster of a kubeconfig, to a namespace that the
// bridge names.
func TestAnotherCluster(t *testing.T) {
	w := newWorld(t)
	there := apitest.Namespace(t)
	w.contract(yubav1.ContractSpec{Version: "1.0.0", Type: "object({ host = string })"})
	w.publish("1.0.0", `{"host":"db"}`, false)
	w.apply("sha256:1", map[string]json.RawMessage{"vpc": output(`"string"`, `"vpc-1"`, false)})
	kubeConfig := &meta.KubeConfigReference{SecretRef: &meta.SecretKeyReference{Name: "target"}}
	store := yubav1.BridgeStore{Secret: &yubav1.ObjectStore{Name: "database", Namespace: there, Reload: true}, KubeConfig: kubeConfig}
	b := w.bridge("database", yubav1.ContractBridgeSpec{Direction: yubav1.BridgeOut, Store: store, Prune: true})
	w.await(b, yubav1.ReasonBridgeInvalid, "the Secret target of spec.store.kubeConfig does not exist")
	target := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "target"}, Data: map[string][]byte{"value": []byte("hunter2: [")}}
	w.create(target)
	w.await(b, yubav1.ReasonBridgeInvalid, "the kubeconfig is invalid")
	target.Data["value"] = kubeconfigOf(t, apitest.API(t).RESTConfig())
	if err := w.Update(t.Context(), target); err != nil {
		t.Fatal(err)
	}
	w.await(b, yubav1.ReasonBridgeSynced, "secret "+there+"/database in the cluster of the Secret target has revision 1 of contract base 1.0.0")
	var s corev1.Secret
	if err := w.Get(t.Context(), client.ObjectKey{Namespace: there, Name: "database"}, &s); err != nil || string(s.Data["document.json"]) != `{"host":"db"}` {
		t.Fatal(s.Data, err)
	}
	store.Secret, store.ConfigMap = nil, &yubav1.ObjectStore{Name: "network", Namespace: there, Attributes: true}
	c := w.outputsTo(w.namespace, "outputs", store, "vpc")
	w.await(c, yubav1.ReasonBridgeSynced, "configmap "+there+"/network in the cluster of the Secret target has revision 1 of the outputs of")
	store.ConfigMap.Namespace = "there-is-none"
	w.await(w.outputsTo(w.namespace, "nowhere", store, "vpc"), yubav1.ReasonBridgeUnreachable, `namespaces "there-is-none" not found`)
	if err := w.Client.Delete(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	w.eventually("the Secret goes with the bridge", func() string {
		if err := w.Get(t.Context(), client.ObjectKeyFromObject(&s), &s); !apierrors.IsNotFound(err) {
			return "it is still there"
		}
		return ""
	})
	for says, spec := range map[string]yubav1.ContractBridgeSpec{
		"a namespace can be chosen in a cluster of kubeConfig only":    {Contract: "base", Store: yubav1.BridgeStore{Secret: &yubav1.ObjectStore{Name: "a", Namespace: there}}},
		"only configMap and secret are in a cluster of kubeConfig":     {Contract: "base", Store: yubav1.BridgeStore{Vault: &yubav1.VaultStore{Address: "https://v", Path: "a"}, KubeConfig: kubeConfig}},
		"a bridge has either contract or outputs":                      {Contract: "base", Outputs: []string{"vpc"}, Store: store},
		"a bridge with outputs has direction Out, and neither version": {Outputs: []string{"vpc"}, Version: "1.0.0", Store: store},
	} {
		spec.Direction, spec.From = yubav1.BridgeOut, &yubav1.BridgeProducer{Name: "network"}
		err := w.Create(t.Context(), &yubav1.ContractBridge{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "refused-by-the-api"}, Spec: spec})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}
