// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/tenants/passes"
	tenantctl "github.com/yuba-dev/yuba/internal/tenants/tenant"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

// events are the notes of events with a reason.
func (w *testWorld) events(reason string) string {
	w.t.Helper()
	var list eventsv1.EventList
	w.must(w.c.List(w.t.Context(), &list, client.InNamespace(w.namespace)))
	var notes []string
	for _, e := range list.Items {
		if e.Reason == reason {
			notes = append(notes, e.Note)
		}
	}
	return strings.Join(notes, "\n")
}

// Removing the finalizer of a stuck tenant causes a report of its remaining objects.
func TestWhatATenantLeavesWithoutItsFinalizerIsTold(t *testing.T) {
	w := newWorld(t)
	elsewhere := apitest.Namespace(t)
	w.rows("acme,a,1,pro")
	w.registry(nil)
	w.template("web", strings.ReplaceAll(`
configMaps:
- id: first
  nameTemplate: first
  targetNamespace: ELSEWHERE
  spec: {data: {a: b}}
- id: second
  nameTemplate: second
  targetNamespace: ELSEWHERE
  dependIds: [first]
  spec: {metadata: {finalizers: [example.com/wait]}, data: {a: b}}
`, "ELSEWHERE", elsewhere))
	w.ready("acme-web")
	w.rows("acme,a,0,pro")
	w.eventually("the tenant waits for the second", func() bool {
		return strings.Contains(fmt.Sprint(w.tenant("acme-web").Status.Waiting), "second is being deleted")
	})
	update(w, &tenantv1.Tenant{}, "acme-web", func(o *tenantv1.Tenant) { o.Finalizers = nil })
	w.eventually("it is told what is left", func() bool {
		return strings.Contains(w.events(tenantv1.EventOrphanedResourceRetained), "without an owner: ConfigMap/"+elsewhere+"/first.")
	})
	other := *w
	other.namespace = elsewhere
	update(&other, &corev1.ConfigMap{}, "second", func(o *corev1.ConfigMap) { o.Finalizers = nil })
	// When the tenant is back, it adopts these objects.
	w.rows("acme,a,1,pro")
	w.ready("acme-web")
	w.rows("acme,a,0,pro")
	w.eventually("all is gone", func() bool {
		cm, second := other.configMap("second")
		if second && len(cm.Finalizers) > 0 {
			update(&other, &corev1.ConfigMap{}, "second", func(o *corev1.ConfigMap) { o.Finalizers = nil })
		}
		_, first := other.configMap("first")
		return !first && !second && w.names() == ""
	})
}

// A status may be too large for the API. Then no unrecorded object is created, the tenant reports
// it, and a smaller template fixes it.
func TestAStatusThatIsRefusedIsTold(t *testing.T) {
	w := newWorld(t)
	running.requests.refuse(t, func(r *http.Request) bool {
		return r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/"+w.namespace+"/tenants/acme-web/status") && r.ContentLength > 10<<10
	})
	var text strings.Builder
	text.WriteString("configMaps:\n")
	for i := range passes.MaxUnrecorded + 1 {
		fmt.Fprintf(&text, "- {id: c%03d, nameTemplate: '{{ .uid }}-c%03[1]d', spec: {data: {a: b}}}\n", i)
	}
	w.rows("acme,a,1,pro")
	w.registry(nil)
	w.template("web", text.String())
	w.eventually("the tenant says so", func() bool {
		c := w.condition("acme-web", tenantv1.ConditionReady)
		return c.Status == metav1.ConditionFalse && strings.Contains(c.Message, "Split the template")
	})
	if made := w.configMaps(); len(made) > 0 {
		t.Errorf("these were made: %v", made)
	}
	w.template("web", oneConfigMap)
	w.ready("acme-web")
	if made := w.configMaps(); len(made) != 1 || made[0] != "acme-settings" {
		t.Errorf("these were made: %v", made)
	}
}

// A create-once stack is not ready for dependants before it is ready itself.
func TestWhatIsMadeOnceIsReadyWhenItIs(t *testing.T) {
	w := newWorld(t)
	w.rows("acme,a,1,pro")
	w.registry(nil)
	w.template("web", strings.Replace(stackAndSettings, "- id: infra\n", "- id: infra\n  creationPolicy: Once\n", 1))
	w.eventually("the stack is there, and what depends on it waits", func() bool {
		_, stack := get(w, &infrav1.Terraform{}, "acme-infra")
		return stack && waits(w.tenant("acme-web"), "settings", tenantctl.WaitDependency) && waits(w.tenant("acme-web"), "infra", tenantctl.WaitNotReady)
	})
	w.quiet()
	if _, there := w.configMap("acme-settings"); there {
		t.Error("a dependant exists before the stack is applied")
	}
	w.applied("acme-infra")
	w.ready("acme-web")
}
