// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	tenantctl "github.com/yuba-dev/yuba/internal/tenants/tenant"
)

func (w *testWorld) stack(name string) (*infrav1.Terraform, bool) {
	w.t.Helper()
	return get(w, &infrav1.Terraform{}, name)
}

// readyStack makes the tenant of stackAndSettings ready.
func (w *testWorld) readyStack() {
	w.t.Helper()
	w.rows("acme,a,1,pro")
	w.registry(nil)
	w.template("web", stackAndSettings)
	w.eventually("the stack is there", func() bool { _, there := w.stack("acme-infra"); return there })
	w.applied("acme-infra")
	w.ready("acme-web")
}

// The template no longer has the order.
func TestWhatTheTemplateLosesTogetherGoesInReverse(t *testing.T) {
	w := newWorld(t)
	w.readyStack()
	update(w, &corev1.ConfigMap{}, "acme-settings", func(cm *corev1.ConfigMap) { cm.Finalizers = []string{"example.com/wait"} })
	w.template("web", strings.ReplaceAll(oneConfigMap, "settings", "other"))
	w.eventually("what depends on the stack is going", func() bool {
		cm, there := w.configMap("acme-settings")
		return there && cm.DeletionTimestamp != nil
	})
	w.quiet()
	if stack, there := w.stack("acme-infra"); !there || stack.DeletionTimestamp != nil {
		t.Error("the stack is deleted before its dependants")
	}
	if !waits(w.tenant("acme-web"), "infra", tenantctl.WaitLeaving) {
		t.Errorf("the tenant says %+v", w.tenant("acme-web").Status.Waiting)
	}
	update(w, &corev1.ConfigMap{}, "acme-settings", func(cm *corev1.ConfigMap) { cm.Finalizers = nil })
	w.eventually("both are gone", func() bool {
		_, stack := w.stack("acme-infra")
		_, cm := w.configMap("acme-settings")
		return !stack && !cm && len(w.tenant("acme-web").Status.Inventory) == 1 && len(w.tenant("acme-web").Status.Waiting) == 0
	})
}

func waits(tenant *tenantv1.Tenant, id, reason string) bool {
	for _, w := range tenant.Status.Waiting {
		if w.ID == id && w.Reason == reason {
			return true
		}
	}
	return false
}

// The stack stays while the settings use it.
func TestWhatIsStillUsedGoesLater(t *testing.T) {
	w := newWorld(t)
	w.readyStack()
	w.template("web", strings.NewReplacer("id: infra", "id: newer", "-infra", "-newer", "[infra]", "[newer]", "-outputs", "-results", "{{ .plan }}", "{{ .plan }}+").Replace(stackAndSettings))
	w.eventually("the new stack is there", func() bool { _, there := w.stack("acme-newer"); return there })
	w.eventually("the old one waits", func() bool { return waits(w.tenant("acme-web"), "infra", tenantctl.WaitLeaving) })
	w.quiet()
	if stack, there := w.stack("acme-infra"); !there || stack.DeletionTimestamp != nil {
		t.Error("the old stack is deleted while in use")
	}
	w.applied("acme-newer")
	w.eventually("the settings are new, and the old stack is gone", func() bool {
		cm, _ := w.configMap("acme-settings")
		_, there := w.stack("acme-infra")
		return cm.Data["plan"] == "pro+" && !there
	})
	w.ready("acme-web")
}

func TestWhatBecomesOfAnotherKindOrNameReplacesWhatItWas(t *testing.T) {
	w := newWorld(t)
	w.rows("acme,a,1,pro")
	w.registry(nil)
	w.template("web", oneConfigMap)
	w.ready("acme-web")
	w.template("web", `
secrets:
- id: settings
  nameTemplate: "{{ .uid }}-settings"
  spec: {apiVersion: v1, kind: Secret, stringData: {plan: "{{ .plan }}"}}
`)
	w.eventually("it is a Secret", func() bool {
		_, secret := get(w, &corev1.Secret{}, "acme-settings")
		_, cm := w.configMap("acme-settings")
		return secret && !cm
	})
	w.ready("acme-web")
	w.template("web", strings.Replace(policy("deletionPolicy: Retain"), "-settings", "-renamed", 1))
	w.eventually("it is a ConfigMap of another name", func() bool {
		_, secret := get(w, &corev1.Secret{}, "acme-settings")
		_, cm := w.configMap("acme-renamed")
		return cm && !secret
	})
	// Retained objects stay, and the reason is reported.
	w.ready("acme-web")
	w.template("web", oneConfigMap)
	w.eventually("what was to stay says that it was left behind", func() bool {
		cm, there := w.configMap("acme-renamed")
		return there && cm.Labels[tenantv1.LabelOrphaned] == "true" && cm.Annotations[tenantv1.AnnotationOrphanedReason] == tenantv1.OrphanedRemoved
	})
}

func TestAnObjectWhoseFieldsCannotBeReadStays(t *testing.T) {
	w := newWorld(t)
	w.rows("acme,a,1,{}")
	w.registry(nil)
	text := strings.Replace(oneConfigMap, `"{{ .plan }}"`, `'{{ index (fromJson .plan) "x" | default "none" }}'`, 1)
	w.template("web", text)
	w.ready("acme-web")
	// A row that does not render deletes nothing.
	w.rows(`acme,a,1,"{""x"": ""y""}"`)
	w.eventually("the row counts", func() bool { cm, _ := w.configMap("acme-settings"); return cm.Data["plan"] == "y" })
}

func TestAKindThatCannotBeFollowedKeepsNobodyWaiting(t *testing.T) {
	w := newWorld(t)
	w.rows("acme,a,1,pro")
	w.registry(nil)
	w.template("web", `
manifests:
- id: review
  nameTemplate: "{{ .uid }}-review"
  spec:
    apiVersion: authorization.k8s.io/v1
    kind: SelfSubjectAccessReview
    spec: {resourceAttributes: {verb: get, resource: pods}}
`+oneConfigMap)
	w.eventually("the tenant or the template says so", func() bool {
		tpl, _ := get(w, &tenantv1.TenantTemplate{}, "web")
		for _, c := range tpl.Status.Conditions {
			if c.Type == tenantv1.ConditionValid && c.Status == "False" {
				return true
			}
		}
		return waits(w.tenant("acme-web"), "review", tenantctl.WaitBroken)
	})
	if w.count() == 1 {
		w.eventually("the other object is there", func() bool { _, there := w.configMap("acme-settings"); return there })
	}
}

// A kind that is defined later is watched at once, and its objects are deleted with the template.
func TestObjectsOfACustomKindGoWithTheTemplate(t *testing.T) {
	w := newWorld(t)
	w.rows("acme,a,1,pro")
	w.registry(nil)
	w.template("web", `
manifests:
- id: source
  nameTemplate: "{{ .uid }}-source"
  waitForReady: false
  spec:
    apiVersion: source.toolkit.fluxcd.io/v1
    kind: GitRepository
    spec: {url: "https://example.com/{{ .uid }}", interval: 1h}
`)
	w.ready("acme-web")
	source := &unstructured.Unstructured{}
	source.SetAPIVersion("source.toolkit.fluxcd.io/v1")
	source.SetKind("GitRepository")
	w.template("web", oneConfigMap)
	w.eventually("the source is gone", func() bool {
		err := w.c.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "acme-source"}, source.DeepCopy())
		inventory := w.tenant("acme-web").Status.Inventory
		return apierrors.IsNotFound(err) && len(inventory) == 1 && inventory[0].Kind == "ConfigMap"
	})
}

func TestTimeoutsAndWhatIsLeftOutBecauseOfThem(t *testing.T) {
	for _, skips := range []string{"true", "false"} {
		t.Run("skipOnDependencyFailure "+skips, func(t *testing.T) {
			w := newWorld(t)
			w.rows("acme,a,1,pro")
			w.registry(nil)
			text := strings.Replace(stackAndSettings, "- id: infra\n", "- id: infra\n  timeoutSeconds: 1\n", 1)
			text = strings.Replace(text, "- id: settings\n", "- id: settings\n  skipOnDependencyFailure: "+skips+"\n", 1)
			w.template("web", text)
			w.eventually("the stack was not ready in time", func() bool {
				return waits(w.tenant("acme-web"), "infra", tenantctl.WaitTimeout) && w.condition("acme-web", tenantv1.ConditionDegraded).Status == "True"
			})
			if skips == "true" {
				w.eventually("what depends on it is left out", func() bool { return waits(w.tenant("acme-web"), "settings", tenantctl.WaitSkipped) })
				if _, there := w.configMap("acme-settings"); there {
					t.Error("an object that is left out exists")
				}
			} else {
				w.eventually("what depends on it is made all the same", func() bool { _, there := w.configMap("acme-settings"); return there })
			}
			w.applied("acme-infra")
			w.ready("acme-web")
		})
	}
}

// A tenant is deleted while its objects are being created, several times.
func TestATenantThatGoesWhileItsObjectsAreMadeLeavesNothing(t *testing.T) {
	w := newWorld(t)
	w.registry(func(s *tenantv1.TenantRegistrySpec) {
		all := int32(100)
		s.Protection = &tenantv1.Protection{MaxDeletePercent: &all}
	})
	var text strings.Builder
	text.WriteString("configMaps:\n")
	for _, c := range "abcdefghij" {
		text.WriteString("- id: " + string(c) + "\n  nameTemplate: '{{ .uid }}-" + string(c) + "'\n  spec: {apiVersion: v1, kind: ConfigMap}\n")
		if c != 'a' {
			text.WriteString("  dependIds: [" + string(c-1) + "]\n")
		}
	}
	w.template("web", text.String())
	for range 3 {
		w.rows(lines(5)...)
		w.eventually("some object is there", func() bool { return len(w.configMaps()) > 0 })
		w.rows()
		w.eventually("no tenant is there", func() bool { return w.count() == 0 })
		if left := w.configMaps(); len(left) > 0 {
			t.Fatalf("they have left %v", left)
		}
	}
}

// configMaps names the ConfigMaps of tenants.
func (w *testWorld) configMaps() []string {
	w.t.Helper()
	var list corev1.ConfigMapList
	w.must(w.c.List(w.t.Context(), &list, client.InNamespace(w.namespace), client.HasLabels{tenantv1.LabelUID}))
	var names []string
	for _, cm := range list.Items {
		names = append(names, cm.Name)
	}
	return names
}
