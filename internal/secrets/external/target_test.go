// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package external_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	externalv1 "github.com/yuba-dev/yuba/api/external/v1"
)

// target applies an ExternalSecret that is read every second.
func (w *world) target(name, target string) {
	w.Helper()
	w.apply(`
kind: ExternalSecret
metadata: {name: ` + name + `}
spec:
  refreshInterval: 1s
  secretStoreRef: {name: vault}
  target: {` + target + `}
  dataFrom: [{extract: {key: NS/` + name + `}}]`)
}

func TestPoliciesOfTargets(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"deleting", "clearing", "merging", "orphan", "none", "stolen", "fixed"} {
		w.put(name, map[string]any{"password": "hunter2"})
	}
	w.target("deleting", "deletionPolicy: Delete")
	w.target("clearing", "creationPolicy: Merge, deletionPolicy: Merge, name: shared")
	w.target("merging", "creationPolicy: Merge, name: shared, template: {data: {other: \"{{ .password }}\"}}")
	w.target("orphan", "creationPolicy: Orphan")
	w.target("none", "creationPolicy: None")
	w.target("stolen", "name: deleting")
	w.target("fixed", "immutable: true")

	s := w.has("deleting", map[string]string{"password": "hunter2"})
	w.await("stolen", externalv1.ReasonSecretSyncedError, "belongs to the ExternalSecret deleting")
	w.await("clearing", externalv1.ReasonSecretMissing, "does not exist")
	if !metav1.IsControlledBy(s, w.object("deleting")) || s.Labels[externalv1.LabelManaged] != "true" {
		t.Errorf("the target is %v", s.ObjectMeta)
	}
	w.secret("shared", map[string]string{"mine": "stays"})
	w.has("shared", map[string]string{"mine": "stays", "other": "hunter2", "password": "hunter2"})
	w.await("clearing", externalv1.ReasonSecretSynced, "")
	if s := w.has("orphan", map[string]string{"password": "hunter2"}); len(s.OwnerReferences) != 0 {
		t.Errorf("an orphan has owners %v", s.OwnerReferences)
	}
	w.await("none", externalv1.ReasonSecretSynced, "writes no Secret")
	w.has("none", nil)
	w.has("fixed", map[string]string{"password": "hunter2"})

	w.target("stolen", "name: elsewhere") // it would take the name as soon as it is free
	w.has("elsewhere", map[string]string{"password": "hunter2"})
	for _, name := range []string{"deleting", "clearing"} {
		w.drop(name)
	}
	w.await("deleting", externalv1.ReasonSecretDeleted, "the Secret was deleted")
	w.await("clearing", externalv1.ReasonSecretDeleted, "the store has none of the secrets")
	w.has("shared", map[string]string{"mine": "stays", "other": "hunter2"})
	w.tells(externalv1.ReasonDeleted, "the Secret was deleted", "hunter2")
	w.put("fixed", map[string]any{"password": "hunter3"})
	w.put("orphan", map[string]any{"password": "hunter3"})
	w.has("orphan", map[string]string{"password": "hunter3"})
	w.has("fixed", map[string]string{"password": "hunter2"})
}

// The earlier target stays until the values are in another one.
func TestARenamedTargetIsNotLost(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"shop", "other"} {
		w.put(name, map[string]any{"password": "hunter2"})
	}
	want := map[string]string{"password": "hunter2"}
	w.target("shop", "name: db")
	w.target("other", "name: taken")
	w.has("db", want)
	w.has("taken", want)
	w.target("shop", "name: taken")
	w.await("shop", externalv1.ReasonSecretSyncedError, "belongs to the ExternalSecret other")
	w.has("db", want)
	w.target("shop", "name: absent, creationPolicy: Merge")
	w.await("shop", externalv1.ReasonSecretMissing, "does not exist")
	w.has("db", want)
	w.target("shop", "name: elsewhere, creationPolicy: None")
	w.await("shop", externalv1.ReasonSecretSynced, "writes no Secret")
	w.has("db", want)
	w.target("shop", "name: free")
	w.has("free", want)
	w.has("db", nil)
}

// The earlier target of a renamed one is not deleted with the keys that others added to it.
func TestKeysOfOthersInAnEarlierTargetStay(t *testing.T) {
	w := newWorld(t)
	w.put("shop", map[string]any{"password": "hunter2"})
	w.target("shop", "name: db")
	s := w.has("db", map[string]string{"password": "hunter2"})
	s.Data["own"] = []byte("stays")
	if err := w.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	w.target("shop", "name: free")
	w.has("free", map[string]string{"password": "hunter2"})
	if s := w.has("db", map[string]string{"own": "stays"}); len(s.OwnerReferences) > 0 || len(s.Labels) > 0 {
		t.Errorf("the Secret that was left is %v", s.ObjectMeta)
	}
	w.await("shop", externalv1.ReasonSecretSynced, "")
}

// A Secret with keys of others is not deleted, and is not taken before something is written to it.
func TestSecretsOfOthersStay(t *testing.T) {
	w := newWorld(t)
	w.secret("mine", map[string]string{"own": "stays"})
	w.target("mine", "deletionPolicy: Delete")
	w.await("mine", externalv1.ReasonSecretDeleted, "has none of their keys")
	if s := w.has("mine", map[string]string{"own": "stays"}); len(s.OwnerReferences) > 0 || len(s.Labels) > 0 {
		t.Errorf("nothing was written, but the Secret is %v", s.ObjectMeta)
	}
	w.put("mine", map[string]any{"password": "hunter2"})
	w.has("mine", map[string]string{"own": "stays", "password": "hunter2"})
	w.drop("mine")
	w.has("mine", map[string]string{"own": "stays"})
	w.tells(externalv1.ReasonDeleted, "their keys were removed", "hunter2")
	w.await("mine", externalv1.ReasonSecretDeleted, "has none of their keys")
	w.has("mine", map[string]string{"own": "stays"})
}

func (w *world) object(name string) *externalv1.ExternalSecret {
	w.Helper()
	es := &externalv1.ExternalSecret{}
	es.Namespace, es.Name = w.namespace, name
	if err := w.Get(w.Context(), client.ObjectKeyFromObject(es), es); err != nil {
		w.Fatal(err)
	}
	return es
}

func TestTemplatesOfTargets(t *testing.T) {
	w := newWorld(t)
	w.put("shop", map[string]any{"user": "shop", "password": "hunter2"})
	if err := w.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "templates"},
		Data: map[string]string{"app.ini": "user={{ .user }}\n", "more": "{{ .user }}_key: {{ .password | b64enc }}"}}); err != nil {
		t.Fatal(err)
	}
	w.apply(`
kind: ExternalSecret
metadata: {name: shop}
spec:
  secretStoreRef: {name: vault}
  target:
    template:
      type: kubernetes.io/basic-auth
      mergePolicy: Merge
      metadata: {labels: {app: "{{ .user }}"}, annotations: {length: "{{ .password | len }}", reloader.stakater.com/match: "true"}}
      data: {url: "postgres://{{ .user }}:{{ .password }}@db"}
      templateFrom:
      - configMap: {name: templates, items: [{key: app.ini}, {key: more, templateAs: KeysAndValues}]}
      - {literal: "tier: {{ .user | upper }}", target: Labels}
  dataFrom: [{extract: {key: NS/shop}}]`)
	w.has("shop", map[string]string{"app.ini": "user=shop\n", "password": "hunter2", "shop_key": "aHVudGVyMg==", "url": "postgres://shop:hunter2@db", "user": "shop"})
	w.await("shop", externalv1.ReasonSecretSynced, "")
	s := w.has("shop", map[string]string{"app.ini": "user=shop\n", "password": "hunter2", "shop_key": "aHVudGVyMg==", "url": "postgres://shop:hunter2@db", "user": "shop"})
	if s.Labels["app"] != "shop" || s.Labels["tier"] != "SHOP" || s.Annotations["length"] != "7" || s.Annotations["reloader.stakater.com/match"] != "true" || s.Type != corev1.SecretTypeBasicAuth {
		t.Errorf("the target is %v of type %s", s.ObjectMeta, s.Type)
	}
	// A ConfigMap with templates is watched once it is named.
	w.apply(`
kind: ExternalSecret
metadata: {name: failing}
spec:
  secretStoreRef: {name: vault}
  target: {template: {data: {x: '{{ fail .password }}'}}}
  dataFrom: [{extract: {key: NS/shop}}]`)
	w.await("failing", externalv1.ReasonSecretSyncedError, "the template calls fail")
	w.tells(externalv1.ReasonUpdateFailed, "the template calls fail", "hunter2")
}

// The type of an earlier target may demand the object's keys: they stay with those of others.
func TestATypedEarlierTargetWithKeysOfOthersIsGivenUp(t *testing.T) {
	w := newWorld(t)
	w.put("shop", map[string]any{"tls.crt": "certificate", "tls.key": "hunter2"})
	w.target("shop", "name: db, template: {type: kubernetes.io/tls}")
	s := w.has("db", map[string]string{"tls.crt": "certificate", "tls.key": "hunter2"})
	s.Data["own"] = []byte("stays")
	if err := w.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	w.target("shop", "name: free, template: {type: kubernetes.io/tls}")
	w.has("free", map[string]string{"tls.crt": "certificate", "tls.key": "hunter2"})
	w.eventually("the status names the new target", func() string {
		if name := w.object("shop").Status.Binding.Name; name != "free" {
			return name + ": " + externalv1.Find(w.object("shop").Status.Conditions, externalv1.ConditionReady).Message
		}
		return ""
	})
	if s := w.has("db", map[string]string{"own": "stays", "tls.crt": "certificate", "tls.key": "hunter2"}); len(s.OwnerReferences) > 0 || len(s.Labels) > 0 {
		t.Errorf("the Secret that was left is %v", s.ObjectMeta)
	}
	w.await("shop", externalv1.ReasonSecretSynced, "")
}

// The new target is written although the API refuses to delete the earlier one. That is tried again.
func TestAnEarlierTargetThatStaysIsTold(t *testing.T) {
	for name, test := range map[string]struct{ refresh, target string }{
		"it is refreshed":          {"refreshInterval: 1s", ""},
		"the new one is immutable": {"refreshInterval: 1s", ", immutable: true"},
		"it is read once":          {"refreshPolicy: CreatedOnce", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testAnEarlierTargetThatStays(t, test.refresh, test.target)
		})
	}
}

func testAnEarlierTargetThatStays(t *testing.T, refresh, target string) {
	w := newWorld(t)
	at := func(name string) {
		w.apply(`
kind: ExternalSecret
metadata: {name: shop}
spec:
  ` + refresh + `
  secretStoreRef: {name: vault}
  target: {name: ` + name + target + `}
  dataFrom: [{extract: {key: NS/shop}}]`)
	}
	w.put("shop", map[string]any{"password": "hunter2"})
	at("db")
	want := map[string]string{"password": "hunter2"}
	w.has("db", want)
	allow := w.deny("db")
	at("free")
	w.has("free", want)
	w.await("shop", externalv1.ReasonSecretSynced, "but delete the earlier target, Secret db: ")
	w.tells(externalv1.ReasonUpdateFailed, "secret synced, but delete the earlier target", "hunter2")
	w.has("db", want)
	if es := w.object("shop"); es.Status.Binding.Name != "db" {
		t.Errorf("the status forgets %s", es.Status.Binding.Name)
	}
	if refresh != "refreshInterval: 1s" || target != "" { // another attempt does not read the store
		w.put("shop", map[string]any{"password": "another"})
		// Nor does a change that asks for no refresh keep the earlier target.
		es := w.object("shop")
		before := es.DeepCopy()
		es.Labels = map[string]string{"team": "shop"}
		if err := w.Patch(t.Context(), es, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}
	allow()
	w.has("db", nil)
	w.has("free", want)
	w.eventually("the status names the new target", func() string {
		es := w.object("shop")
		if c := externalv1.Find(es.Status.Conditions, externalv1.ConditionReady); es.Status.Binding.Name != "free" || c.Message != "secret synced" {
			return es.Status.Binding.Name + ": " + c.Message
		}
		return ""
	})
}

// deny makes the API refuse to delete a Secret, until the function that it returns is called.
func (w *world) deny(name string) (allow func()) {
	w.Helper()
	const kind = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy"
	var objects []*unstructured.Unstructured
	for _, text := range []string{kind + `
metadata: {name: NS}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NS}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [DELETE], resources: [secrets]}]
  validations: [{expression: "oldObject.metadata.name != '` + name + `'", message: it is audited}]`, kind + `Binding
metadata: {name: NS}
spec: {policyName: NS, validationActions: [Deny]}`} {
		u := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict([]byte(strings.ReplaceAll(text, "NS", w.namespace)), &u.Object); err != nil {
			w.Fatal(err)
		}
		if err := w.Create(w.Context(), u); err != nil {
			w.Fatal(err)
		}
		objects = append(objects, u)
	}
	allow = func() {
		for _, u := range objects {
			_ = w.Delete(context.WithoutCancel(w.Context()), u)
		}
	}
	w.Cleanup(allow)
	w.eventually("the API refuses to delete "+name, func() string {
		err := w.Delete(w.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}, client.DryRunAll)
		if err == nil || !strings.Contains(err.Error(), "it is audited") {
			return fmt.Sprint(err)
		}
		return ""
	})
	return allow
}
