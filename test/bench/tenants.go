// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	_ "modernc.org/sqlite" // the driver "sqlite", for the table
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
)

// The rows of tenants, as -only names them. "tenants" names all.
const (
	rowTenantsCreate  = "tenants-create"
	rowTenantsMemory  = "tenants-memory"
	rowTenantsQuiet   = "tenants-quiet"
	rowTenantsChange  = "tenants-change"
	rowTenantsRollout = "tenants-rollout"
)

// tenantUID is the label of all objects of a tenant.
const tenantUID = "kubernetes-tenants.org/uid"

// tenantGroup is the API group of the tenant kinds.
var tenantGroup = schema.GroupVersion{Group: "operator.kubernetes-tenants.org", Version: "v1"}

// kindsOfTenants are the kinds in the benchmark's template, and the number of objects of each per
// tenant.
var kindsOfTenants = []struct {
	kind schema.GroupVersionKind
	each int
}{
	{corev1.SchemeGroupVersion.WithKind("ServiceAccount"), 1},
	{corev1.SchemeGroupVersion.WithKind("ConfigMap"), 2},
	{corev1.SchemeGroupVersion.WithKind("Secret"), 1},
	{infrav1.GroupVersion.WithKind("Terraform"), 1},
}

// objectsOfTenant is the number of objects per tenant.
func objectsOfTenant() int {
	n := 0
	for _, k := range kindsOfTenants {
		n += k.each
	}
	return n
}

// tenants are the rows of a table, with a Yuba that reads it.
type tenants struct {
	*bench
	yuba   *yuba
	client client.WithWatch
	raw    rest.Interface
	// table is the benchmark's own connection, with which it fills the table.
	table *sql.DB
	file  string
}

// measureTenants creates tenants from the rows of a table, and measures the cost of that, of
// changes and of idling.
func (b *bench) measureTenants(ctx context.Context) (err error) {
	t, err := b.newTenants(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.end()) }()
	before, err := t.memory(ctx, rowTenantsMemory)
	if err != nil {
		return err
	}
	if err := t.create(ctx); err != nil {
		return err
	}
	for _, row := range []struct {
		name string
		step func(context.Context) error
	}{
		{rowTenantsMemory, func(ctx context.Context) error { return t.addMemory(ctx, before) }},
		{rowTenantsQuiet, t.measureQuiet},
		{rowTenantsChange, t.measureChanges},
		{rowTenantsRollout, t.measureRollout},
	} {
		if !t.wants(row.name) {
			continue
		}
		if err := row.step(ctx); err != nil {
			return fmt.Errorf("%s: %w", row.name, err)
		}
	}
	return nil
}

// newTenants fills a table, starts a Yuba with access to it, and waits for the first sync.
func (b *bench) newTenants(ctx context.Context) (_ *tenants, err error) {
	directory := b.directory("tables")
	t := &tenants{bench: b, file: filepath.Join(directory, "tenants.db")}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.end())
		}
	}()
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return nil, err
	}
	if err := t.fill(ctx); err != nil {
		return nil, fmt.Errorf("fill the table: %w", err)
	}
	if t.yuba, err = b.start(ctx, b.directory("tenants"), "--sqlite-sources", directory); err != nil {
		return nil, err
	}
	if t.client, err = kubetest.Client(t.yuba.kubeconfig()); err != nil {
		return nil, err
	}
	if t.raw, err = newRaw(t.yuba.kubeconfig()); err != nil {
		return nil, err
	}
	if err := t.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return nil, err
	}
	_, err = t.follow(ctx, t.registries(), func() error { return t.apply(ctx, fmt.Sprintf(tenantRegistry, t.file)) }, func(e watch.Event) bool {
		o, ok := e.Object.(*unstructured.Unstructured)
		return ok && conditionIs(o, "Ready", "True")
	})
	if err != nil {
		return nil, fmt.Errorf("wait until the table is read: %w", err)
	}
	return t, nil
}

// fill creates the table and its rows.
func (t *tenants) fill(ctx context.Context) error {
	var err error
	// Yuba reads while the benchmark writes, so writes may have to wait.
	if t.table, err = sql.Open("sqlite", "file:"+t.file+"?_pragma=busy_timeout(10000)"); err != nil {
		return err
	}
	tx, err := t.table.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // it is committed by then, or an error is returned
	if _, err := tx.ExecContext(ctx, "CREATE TABLE tenants (id TEXT PRIMARY KEY, url TEXT NOT NULL, active INTEGER NOT NULL, plan TEXT NOT NULL)"); err != nil {
		return err
	}
	for i := range t.tenants {
		uid := uidOf(i)
		if _, err := tx.ExecContext(ctx, "INSERT INTO tenants VALUES (?, ?, 1, 'first')", uid, "https://"+uid+".example.com/"); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func uidOf(i int) string { return fmt.Sprintf("tenant-%04d", i) }

// setPlan changes the row of one tenant.
func (t *tenants) setPlan(ctx context.Context, uid, plan string) error {
	_, err := t.table.ExecContext(ctx, "UPDATE tenants SET plan = ? WHERE id = ?", plan, uid)
	return err
}

// end stops everything.
func (t *tenants) end() error {
	var err error
	if t.yuba != nil {
		err = t.yuba.stop()
	}
	if t.table != nil {
		err = errors.Join(err, t.table.Close())
	}
	return err
}

const tenantRegistry = `
apiVersion: operator.kubernetes-tenants.org/v1
kind: TenantRegistry
metadata: {name: bench, namespace: ` + namespace + `}
spec:
  source:
    type: sqlite
    syncInterval: 12h
    sqlite: {path: %q, table: tenants}
  valueMappings: {uid: id, hostOrUrl: url, activate: active}
  extraValueMappings: {plan: plan}
`

// tenantTemplate contains the identity and limits of a tenant, and a stack that reads them. The
// stack is suspended, so that tofu is not measured. It never becomes ready for that reason, and its
// timeout must not end during the measurement.
const tenantTemplate = `
apiVersion: operator.kubernetes-tenants.org/v1
kind: TenantTemplate
metadata: {name: bench, namespace: ` + namespace + `}
spec:
  registryId: bench
  serviceAccounts:
  - id: account
    nameTemplate: "{{ .uid }}"
    spec: {apiVersion: v1, kind: ServiceAccount}
  configMaps:
  - id: settings
    nameTemplate: "{{ .uid }}-settings"
    spec: {apiVersion: v1, kind: ConfigMap, data: {plan: "{{ .plan }}"}}
  - id: limits
    nameTemplate: "{{ .uid }}-limits"
    spec: {apiVersion: v1, kind: ConfigMap, data: {host: "{{ .host }}", requests: "{{ .plan }}"}}
  secrets:
  - id: token
    nameTemplate: "{{ .uid }}-token"
    spec: {apiVersion: v1, kind: Secret, data: {token: "{{ sha1sum .uid | b64enc }}"}}
  manifests:
  - id: stack
    nameTemplate: "{{ .uid }}"
    timeoutSeconds: 3600
    spec:
      apiVersion: infra.contrib.fluxcd.io/v1alpha2
      kind: Terraform
      spec:
        suspend: true
        interval: 12h
        varsFrom:
        - {kind: ConfigMap, name: "{{ .uid }}-settings"}
        inline:
          main.tf: |
            variable "plan" {
              type = string
            }
            output "plan" {
              value = var.plan
            }
`

// apply creates the object in a manifest.
func (t *tenants) apply(ctx context.Context, manifest string) error {
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &o.Object); err != nil {
		return err
	}
	return t.client.Create(ctx, o)
}

func listOf(kind schema.GroupVersionKind) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	return list
}

func (t *tenants) registries() []client.ObjectList {
	return []client.ObjectList{listOf(tenantGroup.WithKind("TenantRegistry"))}
}

// registry is the one registry, by its name.
func (t *tenants) registry() *unstructured.Unstructured {
	return named(tenantGroup.WithKind("TenantRegistry"), "bench")
}

func named(kind schema.GroupVersionKind, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

// observed reports whether the status belongs to the current generation.
func observed(o *unstructured.Unstructured) bool {
	generation, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration") //nolint:errcheck // other types do not match
	return generation == o.GetGeneration()
}

// conditionIs reports whether a condition of the current generation has a status.
func conditionIs(o *unstructured.Unstructured, kind, status string) bool {
	if !observed(o) {
		return false
	}
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions") //nolint:errcheck // other types have no conditions
	for _, each := range conditions {
		if c, ok := each.(map[string]any); ok && c["type"] == kind {
			return c["status"] == status
		}
	}
	return false
}

// follow makes a change and returns the time between the API's response and the moment when
// existing watches have shown enough.
func (t *tenants) follow(ctx context.Context, lists []client.ObjectList, do func() error, enough func(watch.Event) bool, options ...client.ListOption) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, patience+time.Duration(t.tenants)*time.Second)
	defer cancel()
	events := make(chan watch.Event)
	for _, list := range lists {
		w, err := t.client.Watch(ctx, list, append([]client.ListOption{client.InNamespace(namespace)}, options...)...)
		if err != nil {
			return 0, err
		}
		go forward(ctx, w, events)
	}
	if err := do(); err != nil {
		return 0, err
	}
	began := time.Now()
	for {
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case e := <-events:
			if e.Type == watch.Error {
				return 0, fmt.Errorf("a watch ended: %v", e.Object)
			}
			if enough(e) {
				return time.Since(began), nil
			}
		}
	}
}

// forward passes on the events of a watch. A watch that ends early has missed events and reports an
// error.
func forward(ctx context.Context, w watch.Interface, events chan<- watch.Event) {
	defer w.Stop()
	for {
		e, open := <-w.ResultChan()
		if !open {
			e = watch.Event{Type: watch.Error}
		}
		select {
		case events <- e:
		case <-ctx.Done():
			return
		}
		if !open {
			return
		}
	}
}

// create applies the template and waits for the last object of the last tenant.
func (t *tenants) create(ctx context.Context) error {
	want := t.tenants * objectsOfTenant()
	var lists []client.ObjectList
	for _, k := range kindsOfTenants {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(k.kind.GroupVersion().WithKind(k.kind.Kind + "List"))
		lists = append(lists, list)
	}
	spentBefore, err := t.yuba.cpu()
	if err != nil {
		return err
	}
	began := time.Now()
	before, err := t.requests(ctx)
	if err != nil {
		return err
	}
	there := map[types.UID]bool{}
	took, err := t.follow(ctx, lists, func() error { return t.apply(ctx, tenantTemplate) }, func(e watch.Event) bool {
		if o, ok := e.Object.(*metav1.PartialObjectMetadata); ok && e.Type == watch.Added {
			there[o.UID] = true
		}
		return len(there) == want
	}, client.HasLabels{tenantUID})
	if err != nil {
		return fmt.Errorf("%d of %d objects are there: %w", len(there), want, err)
	}
	spent, err := t.yuba.cpu()
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%s %d objects of %d tenants are there after %s\n", time.Now().Format(time.TimeOnly), want, t.tenants, took.Round(time.Millisecond))
	if t.wants(rowTenantsCreate) {
		t.results = append(t.results, result{Name: rowTenantsCreate, Unit: "ms", Trials: want, Value: took.Seconds() * 1000 / float64(want),
			What: fmt.Sprintf("%d tenants of %d objects each, from the template to the last object: per object (%.0f per second, CPU %.1f ms)",
				t.tenants, objectsOfTenant(), float64(want)/took.Seconds(), (spent-spentBefore).Seconds()*1000/float64(want))})
		return t.addCreateRequests(ctx, before, began)
	}
	return nil
}

// requests are the reads and writes that the API has served.
func (t *tenants) requests(ctx context.Context) ([2]writes, error) {
	text, err := t.raw.Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return [2]writes{}, fmt.Errorf("read the API's metrics: %w", err)
	}
	read, err := parseVerbs(text, []string{"GET", "LIST"})
	if err != nil {
		return [2]writes{}, err
	}
	written, err := parseWrites(text)
	return [2]writes{read, written}, err
}

// addCreateRequests adds the reads and writes for all tenants, including late ones.
func (t *tenants) addCreateRequests(ctx context.Context, before [2]writes, began time.Time) error {
	if err := pause(ctx, 2*time.Second); err != nil {
		return err
	}
	after, err := t.requests(ctx)
	if err != nil {
		return err
	}
	for i, what := range []string{"reads", "writes"} {
		n := after[i].since(before[i]).withoutRenewals(time.Since(began))
		t.results = append(t.results, result{Name: rowTenantsCreate + "-" + what, Unit: what, Trials: t.tenants, Value: float64(n.total()) / float64(t.tenants),
			What: fmt.Sprintf("… %s of the API per tenant (all: %s)", what, n)})
	}
	return nil
}

// memory is the idle memory of server and runner, shared pages counted once, if the row is
// selected.
func (t *tenants) memory(ctx context.Context, row string) (float64, error) {
	if !t.wants(row) {
		return 0, nil
	}
	if err := pause(ctx, t.settle); err != nil {
		return 0, err
	}
	server, err := memoryOf(t.yuba.cmd.Process.Pid)
	if err != nil {
		return 0, err
	}
	runner, err := memoryOf(t.yuba.runner)
	return float64(server.plus(runner).proportional) / 1e6, err
}

func (t *tenants) addMemory(ctx context.Context, before float64) error {
	after, err := t.memory(ctx, rowTenantsMemory)
	if err != nil {
		return err
	}
	t.results = append(t.results, result{Name: rowTenantsMemory, Unit: "MB", Trials: 1, Value: after - before,
		What: fmt.Sprintf("idle memory for %d tenants of %d objects each, in addition to that without tenants (%.0f)", t.tenants, objectsOfTenant(), before)})
	return nil
}
