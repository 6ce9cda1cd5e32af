// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bridge_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/contracts/bridge"
	contracts "github.com/yuba-dev/yuba/internal/contracts/controller"
	"github.com/yuba-dev/yuba/internal/contracts/document"
	"github.com/yuba-dev/yuba/internal/contracts/revisions"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/testkit/bridgetest"
	"github.com/yuba-dev/yuba/internal/testkit/ssmtest"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// shared are the controllers of this test binary.
var shared struct {
	once sync.Once
	err  error
	book *contracts.Book
	// woken are the stacks that were woken.
	mu    sync.Mutex
	woken map[types.NamespacedName]int
	// outputs are those of stacks.
	outputs map[types.NamespacedName]map[string]json.RawMessage
}

// world is a namespace with a contract and a stack that publishes it.
type world struct {
	*testing.T
	client.Client
	namespace string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	shared.once.Do(func() { shared.err = start(t) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	w := &world{T: t, Client: apitest.Client(t), namespace: apitest.Namespace(t)}
	w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "aws"}, StringData: map[string]string{
		"AWS_ACCESS_KEY_ID": ssmtest.AccessKey, "AWS_SECRET_ACCESS_KEY": ssmtest.SecretKey}})
	return w
}

func start(t *testing.T) (err error) {
	shared.woken, shared.outputs = map[types.NamespacedName]int{}, map[types.NamespacedName]map[string]json.RawMessage{}
	shared.book, err = bridgetest.Start(t, func(name types.NamespacedName) {
		shared.mu.Lock()
		defer shared.mu.Unlock()
		shared.woken[name]++
	}, func(r *bridge.Reconciler) { r.Outputs = outputsOf })
	return err
}

func outputsOf(_ context.Context, t *infrav1.Terraform) (map[string]json.RawMessage, error) {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	return shared.outputs[client.ObjectKeyFromObject(t)], nil
}

// apply makes outputs as the stack network, each as of "tofu output -json".
func (w *world) apply(digest string, outputs map[string]json.RawMessage, grants ...infrav1.OutputGrant) {
	w.Helper()
	key := client.ObjectKey{Namespace: w.namespace, Name: "network"}
	shared.mu.Lock()
	shared.outputs[key] = outputs
	shared.mu.Unlock()
	var t infrav1.Terraform
	if client.IgnoreNotFound(w.Get(w.Context(), key, &t)) != nil || t.Name == "" {
		t = infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Name: key.Name}, Spec: infrav1.TerraformSpec{Suspend: true, ApprovePlan: "auto", OutputGrants: grants,
			SourceRef: &infrav1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "none"}}}
		w.create(&t)
	}
	t.Status.OutputsDigest = digest
	if err := w.Status().Update(w.Context(), &t); err != nil {
		w.Fatal(err)
	}
}

func (w *world) create(o client.Object) {
	w.Helper()
	if o.GetNamespace() == "" {
		o.SetNamespace(w.namespace)
	}
	if err := w.Create(w.Context(), o); err != nil {
		w.Fatal(err)
	}
}

// contract declares a contract.
func (w *world) contract(spec yubav1.ContractSpec) {
	w.Helper()
	c := &yubav1.Contract{ObjectMeta: metav1.ObjectMeta{Name: "base"}, Spec: spec}
	w.create(c)
	w.eventually("the contract is admitted", func() string {
		if err := w.Get(w.Context(), client.ObjectKeyFromObject(c), c); err != nil {
			return err.Error()
		}
		if len(c.Status.Versions) == 0 {
			return conditions.Of(c, infrav1.ConditionReady).Message
		}
		return ""
	})
}

// publish publishes a value as the stack network, as its controller does after an apply.
func (w *world) publish(version, value string, private bool) {
	w.Helper()
	key := client.ObjectKey{Namespace: w.namespace, Name: "network"}
	var t infrav1.Terraform
	if client.IgnoreNotFound(w.Get(w.Context(), key, &t)) != nil || t.Name == "" {
		t = infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Name: key.Name}, Spec: infrav1.TerraformSpec{Suspend: true, ApprovePlan: "auto",
			SourceRef: &infrav1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "none"}}}
		w.create(&t)
	}
	v, err := document.Parse([]byte(value))
	if err != nil {
		w.Fatal(err)
	}
	r, _, err := shared.book.Store.Publish(w.Context(), revisions.Producer{Stack: string(t.Salt()), Contract: "base"}, v, private, revisions.Revision{Version: version})
	if err != nil {
		w.Fatal(err)
	}
	t.Status.Contracts = &infrav1.ContractsStatus{Published: []infrav1.PublishedRevision{{Contract: "base", Version: r.Version, Number: r.Number, Digest: r.Digest}}}
	if err := w.Status().Update(w.Context(), &t); err != nil {
		w.Fatal(err)
	}
}

// bridge creates a bridge.
func (w *world) bridge(name string, spec yubav1.ContractBridgeSpec) *yubav1.ContractBridge {
	w.Helper()
	if spec.Direction == yubav1.BridgeOut && spec.From == nil {
		spec.From = &yubav1.BridgeProducer{Name: "network"}
	}
	if spec.Contract == "" {
		spec.Contract = "base"
	}
	b := &yubav1.ContractBridge{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
	w.create(b)
	return b
}

// await waits for the reason and the message of a bridge.
func (w *world) await(b *yubav1.ContractBridge, reason, message string) *yubav1.ContractBridge {
	w.Helper()
	w.eventually("bridge "+b.Name+" is "+reason+": "+message, func() string {
		if err := w.Get(w.Context(), client.ObjectKeyFromObject(b), b); err != nil {
			return err.Error()
		}
		c := conditions.Of(b, infrav1.ConditionReady)
		if c.Reason != reason || !strings.Contains(c.Message, message) || b.Status.ObservedGeneration != b.Generation {
			return c.Reason + ": " + c.Message
		}
		return ""
	})
	return b
}

// change changes a bridge and asks for a reconciliation.
func (w *world) change(b *yubav1.ContractBridge, how func(*yubav1.ContractBridge)) {
	w.Helper()
	before := b.DeepCopy()
	b.Annotations = map[string]string{infrav1.AnnotationReconcile: time.Now().String()}
	how(b)
	if err := w.Patch(w.Context(), b, client.MergeFrom(before)); err != nil {
		w.Fatal(err)
	}
}

// tells waits for an event of the namespace with a reason and a note, and checks that none has a secret.
func (w *world) tells(namespace, reason, note string, secrets ...string) {
	w.Helper()
	w.eventually("an event says "+reason+": "+note, func() string {
		var list eventsv1.EventList
		if err := w.List(w.Context(), &list, client.InNamespace(namespace)); err != nil {
			return err.Error()
		}
		var all []string
		found := false
		for _, e := range list.Items {
			all = append(all, e.Type+" "+e.Reason+": "+e.Note)
			found = found || e.Reason == reason && strings.Contains(e.Note, note)
		}
		text := strings.Join(all, "\n")
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				w.Fatalf("an event has the value %s:\n%s", secret, text)
			}
		}
		if !found {
			return text
		}
		return ""
	})
}

func nothing(*yubav1.ContractBridge) {}

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
