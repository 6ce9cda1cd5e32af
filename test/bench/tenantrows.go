// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// tenantTrials is the number of syncs without changes, and of rows that change one after the other.
const tenantTrials = 15

// sync requests a sync and returns the time until the registry reports its end.
func (t *tenants) sync(ctx context.Context) (time.Duration, error) {
	request := time.Now().Format(time.RFC3339Nano)
	ask := func() error {
		return t.client.Patch(ctx, t.registry(), metadataPatch(meta.ReconcileRequestAnnotation, request))
	}
	return t.follow(ctx, t.registries(), ask, func(e watch.Event) bool {
		o, ok := e.Object.(*unstructured.Unstructured)
		if !ok {
			return false
		}
		handled, _, _ := unstructured.NestedString(o.Object, "status", "lastHandledReconcileAt") //nolint:errcheck // other types do not match
		return handled == request
	})
}

// measureQuiet measures the duration and the API requests of syncs without changes.
func (t *tenants) measureQuiet(ctx context.Context) error {
	n := min(t.trials, tenantTrials)
	began := time.Now()
	writesBefore, requestsBefore, err := t.asked(ctx)
	if err != nil {
		return err
	}
	var took []time.Duration
	for range n {
		d, err := t.sync(ctx)
		if err != nil {
			return err
		}
		took = append(took, d)
	}
	// Late writes count, too.
	if err := pause(ctx, 2*time.Second); err != nil {
		return err
	}
	writesAfter, requestsAfter, err := t.asked(ctx)
	if err != nil {
		return err
	}
	// The request of a sync is a write, and so is its acknowledgement.
	written := writesAfter.since(writesBefore).withoutRenewals(time.Since(began)).without("PATCH tenantregistries", n)
	for _, verb := range writing {
		written = written.without(verb+" tenantregistries/status", n)
	}
	t.add(rowTenantsQuiet, fmt.Sprintf("a sync of %d tenants without changes, from the request to its end", t.tenants), "s", took)
	t.results = append(t.results,
		result{Name: rowTenantsQuiet + "-writes", Unit: "writes", Trials: n, Value: float64(written.total()),
			What: fmt.Sprintf("… writes to the API in %d syncs, without request and acknowledgement (all: %s)", n, written)},
		result{Name: rowTenantsQuiet + "-requests", Unit: "requests", Trials: n, Value: float64(requestsAfter - requestsBefore - 2*n),
			What: fmt.Sprintf("… requests about tenants and their objects in %d syncs, without request and acknowledgement", n)})
	return nil
}

// asked counts the API's requests so far: all writes, and all requests about tenants and their
// objects.
func (t *tenants) asked(ctx context.Context) (writes, int, error) {
	text, err := t.raw.Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("read the API's metrics: %w", err)
	}
	w, err := parseWrites(text)
	if err != nil {
		return nil, 0, err
	}
	n, err := parseRequests(text, "configmaps", "secrets", "serviceaccounts", "terraforms", "tenantregistries", "tenanttemplates", "tenants")
	return w, n, err
}

// parseRequests counts the requests about some resources in the API's metrics. Resumed watches do
// not count.
func parseRequests(text []byte, resources ...string) (int, error) {
	sum := 0
	for _, match := range requestLine.FindAllSubmatch(text, -1) {
		labels := map[string]string{}
		for _, l := range requestLabel.FindAllSubmatch(match[1], -1) {
			labels[string(l[1])] = string(l[2])
		}
		if labels["verb"] == "WATCH" || !slices.Contains(resources, labels["resource"]) {
			continue
		}
		n, err := strconv.ParseFloat(string(bytes.TrimSpace(match[2])), 64)
		if err != nil {
			return 0, fmt.Errorf("read the API's metrics: %w", err)
		}
		sum += int(n)
	}
	return sum, nil
}

// measureChanges changes rows, one after the other, and waits for the two affected objects of each.
func (t *tenants) measureChanges(ctx context.Context) error {
	var took []time.Duration
	n := min(t.trials, tenantTrials, t.tenants)
	for i := range n {
		// Not adjacent to the previous row.
		d, err := t.change(ctx, uidOf(i*t.tenants/n), fmt.Sprintf("change %d", i))
		if err != nil {
			return err
		}
		took = append(took, d)
	}
	t.addLatency(rowTenantsChange, fmt.Sprintf("a change of one of %d rows, from its commit to the last changed object, p99", t.tenants), took)
	return nil
}

// change changes a row, requests a sync in case nothing noticed the change, and returns the time
// until the objects with the row's plan have the new value.
func (t *tenants) change(ctx context.Context, uid, plan string) (time.Duration, error) {
	answered := make(chan error, 1)
	commit := func() error {
		if err := t.setPlan(ctx, uid, plan); err != nil {
			return err
		}
		go func() {
			_, err := t.sync(ctx)
			answered <- err
		}()
		return nil
	}
	changed := map[string]bool{}
	took, err := t.follow(ctx, []client.ObjectList{&corev1.ConfigMapList{}}, commit, func(e watch.Event) bool {
		m, ok := e.Object.(*corev1.ConfigMap)
		if ok && (m.Data["plan"] == plan || m.Data["requests"] == plan) {
			changed[m.Name] = true
		}
		return len(changed) == 2
	}, client.MatchingLabels{tenantUID: uid})
	if err != nil {
		return 0, fmt.Errorf("%s: %d of 2 objects have changed: %w", uid, len(changed), err)
	}
	return took, <-answered
}

// measureRollout changes a template whose object becomes ready with a delay, with a limit on the
// tenants updated at the same time, and counts the largest number that were not ready.
func (t *tenants) measureRollout(ctx context.Context) error {
	g, err := t.serveGadgets(ctx)
	if err != nil {
		return err
	}
	defer g.stop()
	if err := t.apply(ctx, fmt.Sprintf(rolloutTemplate, maxSkew)); err != nil {
		return err
	}
	if err := t.awaitGadgets(ctx, func() error { return nil }, &skew{}, "first"); err != nil {
		return fmt.Errorf("the first gadgets: %w", err)
	}
	var counted skew
	began := time.Now()
	if err := t.awaitGadgets(ctx, func() error {
		patch := []byte(`{"spec":{"manifests":[` + gadget("second") + `]}}`)
		return t.client.Patch(ctx, named(tenantGroup.WithKind("TenantTemplate"), "waves"), client.RawPatch(types.MergePatchType, patch))
	}, &counted, "second"); err != nil {
		return fmt.Errorf("the rollout: %w", err)
	}
	took := time.Since(began)
	fmt.Fprintf(os.Stderr, "%s a rollout over %d tenants took %s\n", time.Now().Format(time.TimeOnly), t.tenants, took.Round(time.Millisecond))
	t.results = append(t.results, result{Name: rowTenantsRollout, Unit: "tenants", Trials: t.tenants, Value: float64(counted.most),
		What: fmt.Sprintf("most of %d tenants not ready at the same time, in a rollout with maxSkew %d of an object that is ready after %s (%.0f s)",
			t.tenants, maxSkew, gadgetDelay, took.Seconds())})
	return g.failed()
}

// awaitGadgets makes a change and waits until all tenants are ready and all gadgets have the size.
// s sees all of them.
func (t *tenants) awaitGadgets(ctx context.Context, do func() error, s *skew, size string) error {
	arrived := map[string]bool{}
	_, err := t.follow(ctx, []client.ObjectList{listOf(gadgetKind), listOf(tenantGroup.WithKind("Tenant"))}, do, func(e watch.Event) bool {
		o, ok := e.Object.(*unstructured.Unstructured)
		if !ok || e.Type == watch.Deleted {
			return false
		}
		if o.GetKind() == gadgetKind.Kind {
			is, _, _ := unstructured.NestedString(o.Object, "spec", "size") //nolint:errcheck // other types do not match
			arrived[o.GetName()] = is == size
			s.see("gadget", o.GetName(), !conditionIs(o, "Ready", "True"))
		} else if of, _, _ := unstructured.NestedString(o.Object, "spec", "templateRef"); of == "waves" { //nolint:errcheck // other types do not match
			s.see("tenant", o.GetName(), !conditionIs(o, "Ready", "True"))
		}
		return s.seen["tenant"] == t.tenants && countTrue(arrived) == t.tenants && s.unready("gadget") == 0 && s.unready("tenant") == 0
	})
	return err
}

func countTrue(of map[string]bool) int {
	n := 0
	for _, is := range of {
		if is {
			n++
		}
	}
	return n
}

// skew counts the objects that are not ready at the same time.
type skew struct {
	// is contains the objects that are not ready, by kind.
	is map[string]map[string]bool
	// seen is the number of known objects, by kind.
	seen  map[string]int
	known map[string]bool
	// most is the largest number of objects of one kind that were not ready at the same time.
	most int
}

// see records the readiness of an object.
func (s *skew) see(kind, name string, unready bool) {
	if s.is == nil {
		s.is, s.seen, s.known = map[string]map[string]bool{}, map[string]int{}, map[string]bool{}
	}
	if s.is[kind] == nil {
		s.is[kind] = map[string]bool{}
	}
	if key := kind + "/" + name; !s.known[key] {
		s.known[key] = true
		s.seen[kind]++
	}
	if unready {
		s.is[kind][name] = true
	} else {
		delete(s.is[kind], name)
	}
	s.most = max(s.most, len(s.is[kind]))
}

// unready is the number of objects of a kind that are not ready now.
func (s *skew) unready(kind string) int { return len(s.is[kind]) }
