// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

var fleetSize = flag.Int("fleet", 60, "how many stacks restarted controllers have")

// Controllers that start anew prove each stack unchanged: no run, no write, whatever their number.
func TestARestartStartsNothing(t *testing.T) {
	const teams = 6
	last := map[client.ObjectKey]string{}
	began := time.Now()
	var all []*team
	for range teams {
		all = append(all, newTeam(t, false))
	}
	for i := range *fleetSize {
		all[i%teams].deploy(fmt.Sprintf("s%04d", i), small, nil)
	}
	patience := patience + time.Duration(*fleetSize)*time.Second
	for _, tm := range all {
		within(t, patience, "all stacks of "+tm.name+" are applied", func() string {
			var list infrav1.TerraformList
			must(t, api.List(t.Context(), &list, client.InNamespace(tm.name)))
			for i := range list.Items {
				obj := &list.Items[i]
				if missing := applied(obj); missing != "" {
					return obj.Name + ": " + missing + "\n" + describe(obj)
				}
				last[client.ObjectKeyFromObject(obj)] = obj.Status.LastRun.ID
			}
			return ""
		})
	}
	t.Logf("%d stacks were applied in %s", len(last), time.Since(began).Round(time.Second))
	old := map[string]bool{}
	for _, p := range leaders(t) {
		old[p.Name] = true
		kill(t, &p)
	}
	var leader corev1.Pod
	within(t, patience, "another leader has looked at all stacks", func() string {
		pods := leaders(t)
		if len(pods) == 0 || old[pods[0].Name] || !ready(&pods[0]) {
			return "nobody leads"
		}
		leader = pods[0]
		families, err := metricsOf(t, &leader)
		if err != nil {
			return err.Error()
		}
		if n := sum(families["yuba_stack_decisions_total"]); n < float64(*fleetSize) {
			return fmt.Sprintf("it has looked at %v", n)
		}
		return ""
	})
	families, err := metricsOf(t, &leader)
	must(t, err)
	if n := sum(families["yuba_runs_total"]); n != 0 {
		t.Errorf("it has made %v runs", n)
	}
	writes := 0.0
	for _, m := range families["yuba_api_writes_total"].GetMetric() {
		for _, l := range m.GetLabel() {
			if l.GetName() == "resource" && strings.HasPrefix(l.GetValue(), "terraforms.") {
				writes += m.GetCounter().GetValue()
			}
		}
	}
	if writes != 0 {
		t.Errorf("it has written %v times to stacks that have not changed", writes)
	}
	t.Logf("the new leader uses %.0f MB", sum(families["process_resident_memory_bytes"])/1e6)
	for key, id := range last {
		var obj infrav1.Terraform
		must(t, api.Get(t.Context(), key, &obj))
		if obj.Status.LastRun.ID != id || obj.Status.CurrentRun != nil {
			t.Errorf("%s was run again: %s, then %+v", key, id, obj.Status.LastRun)
		}
	}
}

// metricsOf are the metrics of a replica.
func metricsOf(t *testing.T, p *corev1.Pod) (map[string]*dto.MetricFamily, error) {
	t.Helper()
	out, err := raw.CoreV1().Pods(system).ProxyGet("http", p.Name, "7090", "/metrics", nil).DoRaw(t.Context())
	if err != nil {
		return nil, err
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(bytes.NewReader(out))
}

// sum adds the values of a family's metrics.
func sum(f *dto.MetricFamily) (total float64) {
	for _, m := range f.GetMetric() {
		total += m.GetCounter().GetValue() + m.GetGauge().GetValue()
	}
	return total
}
