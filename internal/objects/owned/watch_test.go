// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package owned

import (
	"context"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// heard are the changes that a watch told of.
type heard struct {
	mu   sync.Mutex
	list []string
}

func (h *heard) add(owner Owner, id ID, now *metav1.PartialObjectMetadata) {
	h.mu.Lock()
	defer h.mu.Unlock()
	what := "is"
	if now == nil {
		what = "lost"
	}
	h.list = append(h.list, owner.Name+" "+what+" "+id.Name)
}

func (h *heard) has(text string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, one := range h.list {
		if one == text {
			return true
		}
	}
	return false
}

func eventually(t *testing.T, sentence string, so func() bool) {
	t.Helper()
	deadline := time.Now().Add(90 * time.Second)
	for !so() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not after a long time", sentence)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// watching starts a watch over what has the label "of" in the API; Services are looked at.
func watching(t *testing.T, h *heard) *Watch {
	t.Helper()
	config := rest.CopyConfig(apitest.API(t).RESTConfig())
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(config, httpClient)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	return NewWatch(ctx, Options{Metadata: metadata.NewForConfigOrDie(config), Objects: dynamic.NewForConfigOrDie(config), Mapper: mapper, Selector: "of",
		Owners: func(_ ID, o metav1.Object) []Owner {
			return []Owner{{Namespace: o.GetNamespace(), Name: o.GetLabels()["of"]}}
		},
		Changed: h.add,
		Look: func(kind schema.GroupKind) func(*unstructured.Unstructured) any {
			if kind.Kind != "ConfigMap" {
				return nil
			}
			return func(u *unstructured.Unstructured) any {
				text, _, err := unstructured.NestedString(u.Object, "data", "key")
				if err != nil {
					return ""
				}
				return text
			}
		}})
}

func TestAWatchTellsOfOwnedObjectsAndKeepsLooks(t *testing.T) {
	h := &heard{}
	w, c, namespace := watching(t, h), apitest.Client(t), apitest.Namespace(t)
	ctx := t.Context()
	me := Owner{Namespace: namespace, Name: "me"}
	kinds := map[schema.GroupKind]string{{Kind: "ConfigMap"}: "v1", {Kind: "Secret"}: "v1"}
	if err := w.Follow(ctx, me, kinds); err != nil {
		t.Fatal(err)
	}
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"of": "me"}}
	}
	cm := &corev1.ConfigMap{ObjectMeta: meta("settings"), Data: map[string]string{"key": "one"}}
	secret := &corev1.Secret{ObjectMeta: meta("keys"), Data: map[string][]byte{"key": []byte("hidden")}}
	for _, o := range []client.Object{cm, secret} {
		if err := c.Create(ctx, o); err != nil {
			t.Fatal(err)
		}
	}
	settings, keys := ID{GroupKind: schema.GroupKind{Kind: "ConfigMap"}, Namespace: namespace, Name: "settings"}, ID{GroupKind: schema.GroupKind{Kind: "Secret"}, Namespace: namespace, Name: "keys"}
	eventually(t, "both are told of", func() bool { return h.has("me is settings") && h.has("me is keys") })
	if m, look := w.Look(settings); m == nil || m.UID != cm.UID || look != "one" {
		t.Errorf("of the ConfigMap it keeps %v and %v", m, look)
	}
	if m, look := w.Look(keys); m == nil || m.UID != secret.UID || look != nil {
		t.Errorf("of the Secret it keeps %v and %v", m, look)
	}
	left := PrintOf(cm)
	if !w.AsLeft(settings, left) {
		t.Error("what nobody has changed is not as it was left")
	}

	before := cm.DeepCopy()
	cm.Data["key"] = "two"
	if err := c.Patch(ctx, cm, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the look is new", func() bool { _, look := w.Look(settings); return look == "two" })
	if w.AsLeft(settings, left) || !w.AsLeft(settings, PrintOf(cm)) {
		t.Error("a change is not seen")
	}

	before = cm.DeepCopy()
	cm.Labels["of"] = "another"
	if err := c.Patch(ctx, cm, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "who lost it hears of that", func() bool { return h.has("me lost settings") && h.has("another is settings") })
	if err := c.Delete(ctx, secret); err != nil {
		t.Fatal(err)
	}
	eventually(t, "its end is told", func() bool { return h.has("me lost keys") })

	w.Keep(me, map[schema.GroupKind]string{{Kind: "ConfigMap"}: "v1"})
	if _, known := w.Get(keys); known != "" {
		t.Error("a kind that nobody has is watched")
	}
	if _, known := w.Get(settings); known == "" {
		t.Error("a kind that somebody has is not watched")
	}
}

// A kind may be followed in a version that its API drops one day; whoever follows it in another one must not follow that.
func TestAVersionThatIsGoneIsFollowedNoLonger(t *testing.T) {
	w, namespace := watching(t, &heard{}), apitest.Namespace(t)
	kind := schema.GroupKind{Kind: "ConfigMap"}
	me, you := Owner{Namespace: namespace, Name: "me"}, Owner{Namespace: namespace, Name: "you"}
	if err := w.Follow(t.Context(), me, map[schema.GroupKind]string{kind: "v1"}); err != nil {
		t.Fatal(err)
	}
	before := w.kinds[kind]
	gone := error(apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, ""))
	before.version = "v1beta1"
	if f, err := w.follow(me, kind, "v1"); err != nil || f != before {
		t.Errorf("without a reason it is followed anew: %v", err)
	}
	before.trouble.Store(&gone)
	if err := w.Follow(t.Context(), you, map[schema.GroupKind]string{kind: "v1"}); err != nil {
		t.Fatal(err)
	}
	after := w.kinds[kind]
	if after == before || after.version != "v1" || !after.users[me] || !after.users[you] {
		t.Errorf("it is followed in %s by %v", after.version, after.users)
	}
	eventually(t, "the old one ends", before.informer.IsStopped)
}
