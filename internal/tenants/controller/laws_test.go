// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/tenants/registry"
)

// confirm writes a confirmation on an object.
func confirm(o metav1.Object, id string) {
	o.SetAnnotations(map[string]string{tenantv1.AnnotationConfirmDeletion: id})
}

// applied is the condition Applied of a template.
func (w *testWorld) appliedOf(template string) metav1.Condition {
	w.t.Helper()
	tpl, _ := get(w, &tenantv1.TenantTemplate{}, template)
	if c := apimeta.FindStatusCondition(tpl.Status.Conditions, tenantv1.ConditionApplied); c != nil {
		return *c
	}
	return metav1.Condition{}
}

func TestAReadingThatFindsNothingNewWritesNothing(t *testing.T) {
	w := newWorld(t)
	w.rows(lines(5)...)
	w.registry(func(s *tenantv1.TenantRegistrySpec) { s.Source.SyncInterval = "1s" })
	w.template("web", oneConfigMap)
	for i := range 5 {
		w.ready(fmt.Sprintf("t%02d-web", i))
	}
	w.eventually("the template knows", func() bool { return w.appliedOf("web").Reason == tenantv1.ReasonAllTenantsReady })
	readings := func(since int) (n int) {
		for _, r := range running.requests.of(w.namespace, since) {
			if strings.HasSuffix(r, "/configmaps/table") {
				n++
			}
		}
		return n
	}
	settled := running.requests.mark()
	w.eventually("the table was read", func() bool { return readings(settled) >= 2 })
	since := running.requests.mark()
	w.eventually("the table was read more often", func() bool { return readings(since) >= 3 })
	for _, r := range running.requests.of(w.namespace, since) {
		if !strings.HasPrefix(r, http.MethodGet+" ") || !strings.HasSuffix(r, "/configmaps/table") {
			t.Errorf("%s is asked for", r)
		}
	}
}

// A database that never answers must not delay the rows of others.
func TestADatabaseThatDoesNotAnswerKeepsNobodyWaiting(t *testing.T) {
	w := newWorld(t)
	asked, end := make(chan struct{}, 100), make(chan struct{})
	dead := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		select {
		case <-end:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(dead.Close)
	t.Cleanup(func() { close(end) })
	for i := range registry.Workers + 2 {
		reg := &tenantv1.TenantRegistry{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: fmt.Sprintf("dead-%d", i)}, Spec: tenantv1.TenantRegistrySpec{
			Source:        tenantv1.DataSource{Type: tenantv1.SourceHTTP, SyncInterval: "1s", HTTP: &tenantv1.HTTPSource{URL: dead.URL}},
			ValueMappings: tenantv1.ValueMappings{UID: "id", Activate: "active"},
		}}
		w.must(w.c.Create(t.Context(), reg))
	}
	for range registry.Workers + 2 {
		<-asked
	}
	w.rows("acme,a,1,pro")
	w.registry(nil)
	w.template("web", oneConfigMap)
	w.ready("acme-web")
}

func TestATenantIsItsTemplatesWhateverItsLabelsSay(t *testing.T) {
	w := newWorld(t)
	w.rows("acme,a,1,pro", "beta,b,1,pro")
	w.registry(nil)
	w.template("web", oneConfigMap)
	w.ready("acme-web")
	w.ready("beta-web")
	uid := w.tenant("acme-web").UID
	// Another registry without templates ignores the tenant.
	other := &tenantv1.TenantRegistry{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "others"}, Spec: tenantv1.TenantRegistrySpec{
		Source:        tenantv1.DataSource{Type: tenantv1.SourceConfigMap, SyncInterval: "1s", ConfigMap: &tenantv1.ConfigMapSource{Name: "table", Key: "rows.csv"}},
		ValueMappings: tenantv1.ValueMappings{UID: "id", Activate: "active"},
	}}
	w.must(w.c.Create(t.Context(), other))
	update(w, &tenantv1.Tenant{}, "acme-web", func(o *tenantv1.Tenant) { o.Labels[tenantv1.LabelRegistry] = "others" })
	w.eventually("the label is put back", func() bool { return w.tenant("acme-web").Labels[tenantv1.LabelRegistry] == "customers" })
	update(w, &tenantv1.Tenant{}, "acme-web", func(o *tenantv1.Tenant) { o.Labels = nil })
	w.eventually("the labels are put back", func() bool { return w.tenant("acme-web").Labels[tenantv1.LabelUID] == "acme" })
	w.quiet()
	if now := w.tenant("acme-web"); now.UID != uid || now.DeletionTimestamp != nil || w.names() != "acme-web beta-web" {
		t.Errorf("there are %s", w.names())
	}
}

func TestTenantsOfTwoRegistriesMayHaveOneName(t *testing.T) {
	w := newWorld(t)
	w.rows("a-b,a,1,pro")
	w.registry(nil)
	w.template("c", oneConfigMap)
	w.ready("a-b-c")
	w.must(w.c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "others"}, Data: map[string]string{"rows.csv": "id,active\na,1\n"}}))
	w.must(w.c.Create(t.Context(), &tenantv1.TenantRegistry{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "others"}, Spec: tenantv1.TenantRegistrySpec{
		Source:        tenantv1.DataSource{Type: tenantv1.SourceConfigMap, SyncInterval: "1h", ConfigMap: &tenantv1.ConfigMapSource{Name: "others", Key: "rows.csv"}},
		ValueMappings: tenantv1.ValueMappings{UID: "id", Activate: "active"},
	}}))
	w.must(w.c.Create(t.Context(), &tenantv1.TenantTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "b-c"}, Spec: tenantv1.TenantTemplateSpec{RegistryID: "others"}}))
	w.eventually("both are there", func() bool { return w.count() == 2 })
}

// The API refuses a Tenant that is too large: the template reports it, and others continue.
func TestATenantThatTheAPIRefusesIsTold(t *testing.T) {
	w := newWorld(t)
	w.rows("acme,a,1,pro", "large,b,1,"+strings.Repeat("p", 100<<10))
	w.registry(nil)
	// Together they exceed the limit of the API's store.
	many := "  annotationsTemplate:\n"
	for i := range 40 {
		many += fmt.Sprintf("    example.com/a%d: '{{ .plan }}'\n", i)
	}
	w.template("web", oneConfigMap+many)
	w.ready("acme-web")
	w.eventually("it is told", func() bool {
		c := w.appliedOf("web")
		return c.Status == metav1.ConditionFalse && strings.Contains(c.Message, "1 tenant cannot be created or changed; large-web: create Tenant")
	})
	w.rows("acme,a,1,pro", "large,b,1,pro")
	w.ready("large-web")
	w.eventually("it is over", func() bool { return w.appliedOf("web").Reason == tenantv1.ReasonAllTenantsReady })
}

func TestATemplateWithoutARegistryIsConfirmedByItself(t *testing.T) {
	w := newWorld(t)
	w.rows(lines(4)...)
	w.registry(nil)
	w.template("web", oneConfigMap)
	w.eventually("all are there, and the template knows", func() bool {
		tpl, _ := get(w, &tenantv1.TenantTemplate{}, "web")
		return w.count() == 4 && len(tpl.Finalizers) > 0
	})
	meta := metav1.ObjectMeta{Namespace: w.namespace, Name: "customers"}
	w.must(w.c.Delete(t.Context(), &tenantv1.TenantRegistry{ObjectMeta: meta}))
	meta.Name = "web"
	w.must(w.c.Delete(t.Context(), &tenantv1.TenantTemplate{ObjectMeta: meta}))
	var tpl *tenantv1.TenantTemplate
	w.eventually("it says how it is confirmed", func() bool {
		tpl, _ = get(w, &tenantv1.TenantTemplate{}, "web")
		c := w.appliedOf("web")
		return c.Reason == tenantv1.ReasonTemplateDeleting && strings.Contains(c.Message, "yuba delete tenanttemplate web -n "+w.namespace)
	})
	w.quiet()
	if w.count() != 4 {
		t.Fatalf("there are %s", w.names())
	}
	update(w, &tenantv1.TenantTemplate{}, "web", func(o *tenantv1.TenantTemplate) { confirm(o, string(tpl.UID)) })
	w.eventually("all are gone", func() bool {
		_, there := get(w, &tenantv1.TenantTemplate{}, "web")
		return !there && w.count() == 0
	})
}

// A source that signals changes is read for each deleted row. Together they are a large deletion.
func TestRowsThatVanishOneByOneAreHeld(t *testing.T) {
	w := newWorld(t)
	w.rows(lines(6)...)
	w.registry(nil)
	w.template("web", oneConfigMap)
	w.eventually("all are there", func() bool { return w.count() == 6 })
	w.rows(lines(5)...)
	w.eventually("one may go", func() bool { return w.count() == 5 })
	for n := 4; n >= 2; n-- {
		w.rows(lines(n)...)
	}
	w.eventually("the others are held", func() bool {
		reg, _ := get(w, &tenantv1.TenantRegistry{}, "customers")
		return reg.Status.Held != nil && reg.Status.Held.Count == 3 && strings.Contains(reg.Status.Held.Message, "after 1 a moment ago")
	})
	if w.count() != 5 {
		t.Errorf("there are %s", w.names())
	}
}

// blinking creates a registry of four rows, which is read daily and on request. blink makes the
// next reading return one row, or three.
func (w *testWorld) blinking(protection *tenantv1.Protection) (blink func(left int32)) {
	w.t.Helper()
	var rows atomic.Int32
	source := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
		n := rows.Swap(4)
		all := []string{`{"id":"t00","active":"1"}`, `{"id":"t01","active":"1"}`, `{"id":"t02","active":"1"}`, `{"id":"t03","active":"1"}`}
		fmt.Fprintf(out, "[%s]", strings.Join(all[:n], ",")) //nolint:errcheck // the test would notice
	}))
	w.t.Cleanup(source.Close)
	rows.Store(4)
	w.registry(func(s *tenantv1.TenantRegistrySpec) {
		s.Source = tenantv1.DataSource{Type: tenantv1.SourceHTTP, SyncInterval: "24h", HTTP: &tenantv1.HTTPSource{URL: source.URL}}
		s.ValueMappings, s.ExtraValueMappings, s.Protection = tenantv1.ValueMappings{UID: "id", Activate: "active"}, nil, protection
	})
	w.template("web", "configMaps: [{id: settings, nameTemplate: '{{ .uid }}-settings', spec: {data: {a: b}}}]")
	w.eventually("all are there", func() bool { return w.count() == 4 })
	return func(left int32) {
		rows.Store(left)
		update(w, &tenantv1.TenantRegistry{}, "customers", func(reg *tenantv1.TenantRegistry) {
			reg.Annotations = map[string]string{"reconcile.fluxcd.io/requestedAt": "now"}
		})
	}
}

// A day may pass between the last reading and the confirmation, and rows may be back.
func TestWhoseRowIsBackStaysAlthoughSomebodyHasConfirmedThatItGoes(t *testing.T) {
	w := newWorld(t)
	w.blinking(nil)(1)
	var held *tenantv1.HeldDeletion
	w.eventually("the deletion is held", func() bool {
		reg, _ := get(w, &tenantv1.TenantRegistry{}, "customers")
		held = reg.Status.Held
		return held != nil && held.Count == 3
	})
	update(w, &tenantv1.TenantRegistry{}, "customers", func(reg *tenantv1.TenantRegistry) {
		reg.Annotations[tenantv1.AnnotationConfirmDeletion] = held.ID
	})
	w.eventually("nothing is held any more", func() bool {
		reg, _ := get(w, &tenantv1.TenantRegistry{}, "customers")
		return reg.Status.Held == nil
	})
	w.quiet()
	if w.names() != "t00-web t01-web t02-web t03-web" {
		t.Errorf("there are %s", w.names())
	}
}

// The same at the end of a grace period.
func TestWhoseRowIsBackInTimeStaysEvenIfNobodyHasReadThat(t *testing.T) {
	w := newWorld(t)
	blink := w.blinking(&tenantv1.Protection{GracePeriod: &metav1.Duration{Duration: 5 * time.Second}})
	uid := w.tenant("t03-web").UID
	blink(3)
	w.eventually("its time of grace begins", func() bool { return w.tenant("t03-web").Annotations[tenantv1.AnnotationInactiveSince] != "" })
	w.eventually("it is wanted again", func() bool {
		now := w.tenant("t03-web")
		return now.Name == "" || now.Annotations[tenantv1.AnnotationInactiveSince] == ""
	})
	if now := w.tenant("t03-web"); now.UID != uid || now.DeletionTimestamp != nil {
		t.Errorf("there are %s", w.names())
	}
}

// stacks creates n tenants with a ready stack each.
func (w *testWorld) stacks(n int, rollout string) {
	w.t.Helper()
	w.rows(lines(n)...)
	w.registry(nil)
	w.template("web", rollout+stackAndSettings)
	for i := range n {
		name := fmt.Sprintf("t%02d", i)
		w.eventually("the stack of "+name+" is there", func() bool { _, there := get(w, &infrav1.Terraform{}, name+"-infra"); return there })
		w.applied(name + "-infra")
	}
	for i := range n {
		w.ready(fmt.Sprintf("t%02d-web", i))
	}
}

// changed lists the tenants with a generation of their template.
func (w *testWorld) changed(n int, generation string) (list []string) {
	w.t.Helper()
	for i := range n {
		if name := fmt.Sprintf("t%02d", i); w.tenant(name + "-web").Annotations[tenantv1.AnnotationTemplateGeneration] == generation {
			list = append(list, name)
		}
	}
	return list
}

func TestTheCanaryGetsAChangeFirst(t *testing.T) {
	w := newWorld(t)
	rollout := `rollout: {maxSkew: 2, canary: {matchLabels: {kubernetes-tenants.org/uid: t03}}}`
	w.stacks(5, rollout)
	w.template("web", rollout+strings.ReplaceAll(stackAndSettings, "suspend: true", "suspend: false"))
	w.eventually("the canary has it", func() bool { return len(w.changed(5, "2")) == 1 })
	w.quiet()
	if list := w.changed(5, "2"); len(list) != 1 || list[0] != "t03" {
		t.Fatalf("%v have the change", list)
	}
	w.applied("t03-infra")
	w.eventually("the next two have it", func() bool { return len(w.changed(5, "2")) == 3 })
}

// A failed tenant stops the rollout until it is ready or the template changes.
func TestAChangeThatFailsGoesNoFurther(t *testing.T) {
	w := newWorld(t)
	rollout := `rollout: {maxSkew: 1}`
	w.stacks(3, rollout)
	second := strings.ReplaceAll(stackAndSettings, "suspend: true", "suspend: false")
	w.template("web", rollout+second)
	w.eventually("the first has it", func() bool { return len(w.changed(3, "2")) == 1 })
	// Another owner has the change's object.
	third := second + `
- id: extra
  nameTemplate: "{{ .uid }}-extra"
  spec: {apiVersion: v1, kind: ConfigMap, data: {a: b}}
`
	w.must(w.c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "t00-extra"}, Data: map[string]string{"a": "mine"}}))
	w.applied("t00-infra")
	w.eventually("all have the second one", func() bool {
		for _, name := range w.changed(3, "2") {
			w.applied(name + "-infra")
		}
		return w.appliedOf("web").Reason == tenantv1.ReasonAllTenantsReady
	})
	w.template("web", rollout+third)
	w.eventually("it is paused", func() bool {
		c := w.appliedOf("web")
		return c.Reason == tenantv1.ReasonRolloutPaused && strings.Contains(c.Message, "t00-web")
	})
	w.quiet()
	if list := w.changed(3, "3"); len(list) != 1 {
		t.Fatalf("%v have the change", list)
	}
	w.must(w.c.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "t00-extra"}}))
	w.eventually("it goes on", func() bool { return w.appliedOf("web").Reason == tenantv1.ReasonAllTenantsReady })
}

// A response that ends in the middle is not a reading.
func TestAnAnswerThatEndsInTheMiddleChangesNothing(t *testing.T) {
	w := newWorld(t)
	whole := `[{"id":"acme","active":"1"},{"id":"beta","active":"1"},{"id":"gamma","active":"1"}]`
	var broken atomic.Bool
	source := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Length", strconv.Itoa(len(whole)))
		if broken.Load() {
			fmt.Fprint(out, whole[:len(whole)/2]) //nolint:errcheck // it is cut anyway
			return
		}
		fmt.Fprint(out, whole) //nolint:errcheck // the test would notice
	}))
	t.Cleanup(source.Close)
	w.registry(func(s *tenantv1.TenantRegistrySpec) {
		s.Source = tenantv1.DataSource{Type: tenantv1.SourceHTTP, SyncInterval: "1s", HTTP: &tenantv1.HTTPSource{URL: source.URL}}
		s.ValueMappings, s.ExtraValueMappings = tenantv1.ValueMappings{UID: "id", Activate: "active"}, nil
	})
	w.template("web", "configMaps: [{id: settings, nameTemplate: '{{ .uid }}-settings', spec: {data: {a: b}}}]")
	w.eventually("all are there", func() bool { return w.count() == 3 })
	broken.Store(true)
	w.eventually("the registry says so", func() bool { return w.registryCondition(tenantv1.ConditionReady).Status == metav1.ConditionFalse })
	if w.count() != 3 {
		t.Errorf("there are %s", w.names())
	}
	broken.Store(false)
	w.eventually("it can be read again", func() bool { return w.registryCondition(tenantv1.ConditionReady).Status == metav1.ConditionTrue })
	if w.count() != 3 {
		t.Errorf("there are %s", w.names())
	}
}
