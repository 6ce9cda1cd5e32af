// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const examples = "../../examples/observability/"

// foreign are the metrics that libraries serve beside ours.
var foreign = []string{"process_resident_memory_bytes", "process_cpu_seconds_total"}

// functions and keywords are what queries may use; a word that is none of them and no metric is a
// mistake.
var functions = []string{"sum", "max", "min", "rate", "increase", "absent", "histogram_quantile", "vector", "by", "or"}

var token = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*|\$[a-z_]+|[0-9][0-9.]*|"[^"]*"|=~|!~|!=|==|>=|<=|\[[^\]]*\]|[-+*/<>=(){},]|\s+`)

// metricsOf reads a query as far as it must be read to know its metrics and to find most mistakes.
func metricsOf(query string) (metrics []string, err error) {
	var open []string
	rest, before, label := query, "", false
	for rest != "" {
		at := token.FindStringIndex(rest)
		if at == nil || at[0] != 0 {
			return nil, fmt.Errorf("%q makes no sense at %q", query, rest)
		}
		word := rest[:at[1]]
		rest = rest[at[1]:]
		switch first := word[0]; {
		case strings.TrimSpace(word) == "":
			continue
		case word == "(" || word == "{":
			label = word == "{" || before == "by"
			open = append(open, word)
		case word == ")" || word == "}":
			if len(open) == 0 || open[len(open)-1] != map[string]string{")": "(", "}": "{"}[word] {
				return nil, fmt.Errorf("%q: brackets do not match", query)
			}
			open, label = open[:len(open)-1], false
		case label || first == '"' || first == '$' || first == '[' || first >= '0' && first <= '9' || !regexp.MustCompile(`^[a-z]`).MatchString(word):
		case slices.Contains(functions, word):
		default:
			metrics = append(metrics, word)
		}
		before = word
	}
	if len(open) > 0 {
		return nil, fmt.Errorf("%q: a bracket is not closed", query)
	}
	return metrics, nil
}

// metricNames lists all metrics as queries name them: a histogram by its buckets, sum and count.
func metricNames() []string {
	var names []string
	for _, c := range chapters {
		for _, f := range c.families {
			if f.kind != histogram {
				names = append(names, f.name)
				continue
			}
			names = append(names, f.name+"_bucket", f.name+"_sum", f.name+"_count")
		}
	}
	return names
}

func checkQuery(t *testing.T, where, query string) {
	t.Helper()
	names := append(metricNames(), foreign...)
	metrics, err := metricsOf(query)
	if err != nil {
		t.Errorf("%s: %v", where, err)
	}
	if len(metrics) == 0 {
		t.Errorf("%s: %q asks for no metric", where, query)
	}
	for _, m := range metrics {
		if !slices.Contains(names, m) {
			t.Errorf("%s: there is no metric %s", where, m)
		}
	}
	if regexp.MustCompile(`\b(rate|increase)\([^\[]*\)`).MatchString(query) {
		t.Errorf("%s: %q has a rate without a range", where, query)
	}
	for _, m := range selected.FindAllStringSubmatch(query, -1) {
		for label := range labelsOf(m[0]) {
			if !hasLabel(m[1], label) {
				t.Errorf("%s: %s has no label %s", where, m[1], label)
			}
		}
	}
	for label := range labelsOf(query) {
		if !slices.ContainsFunc(metrics, func(metric string) bool { return hasLabel(metric, label) }) {
			t.Errorf("%s: none of %v has the label %s", where, metrics, label)
		}
	}
}

// hasLabel says whether a metric has a label: of ours, or one that whoever scrapes adds.
func hasLabel(metric, label string) bool {
	if label == "job" {
		return true
	}
	return slices.ContainsFunc(chapters, func(c chapter) bool {
		return slices.ContainsFunc(c.families, func(f *family) bool {
			switch {
			case f.name == metric:
				return slices.Contains(f.labels, label)
			case f.kind == histogram && metric == f.name+"_bucket" && label == "le":
				return true
			case f.kind == histogram && (metric == f.name+"_bucket" || metric == f.name+"_sum" || metric == f.name+"_count"):
				return slices.Contains(f.labels, label)
			}
			return false
		})
	})
}

var (
	selected = regexp.MustCompile(`([a-z_]+)\{[^}]*\}`)
	selector = regexp.MustCompile(`([a-z_]+)(?:=~|!~|!=|=)"`)
	grouping = regexp.MustCompile(`by \(([^)]*)\)`)
)

func labelsOf(query string) map[string]bool {
	labels := map[string]bool{}
	for _, m := range selector.FindAllStringSubmatch(query, -1) {
		labels[m[1]] = true
	}
	for _, m := range grouping.FindAllStringSubmatch(query, -1) {
		for label := range strings.SplitSeq(m[1], ",") {
			labels[strings.TrimSpace(label)] = true
		}
	}
	return labels
}

func TestTheDashboardAsksForMetricsThatThereAre(t *testing.T) {
	data, err := os.ReadFile(examples + "dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Title  string
		Panels []struct {
			ID          int
			Title, Type string
			Targets     []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(data, &dashboard); err != nil {
		t.Fatal(err)
	}
	ids := map[int]bool{}
	for _, p := range dashboard.Panels {
		if ids[p.ID] || p.Title == "" {
			t.Errorf("panel %d: %q", p.ID, p.Title)
		}
		ids[p.ID] = true
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("%s shows nothing", p.Title)
		}
		for _, target := range p.Targets {
			checkQuery(t, p.Title, target.Expr)
		}
	}
	if len(ids) < 20 {
		t.Errorf("%d panels", len(ids))
	}
}

// rules is the format of Prometheus' rule files, as far as alerts use it.
type rules struct {
	Groups []struct {
		Name  string
		Rules []struct {
			Alert, Expr, For    string
			Labels, Annotations map[string]string
		}
	}
}

func TestTheAlertRulesAreRules(t *testing.T) {
	file, err := os.Open(examples + "rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	decoder := yaml.NewDecoder(file)
	decoder.KnownFields(true)
	var r rules
	if err := decoder.Decode(&r); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	duration := regexp.MustCompile(`^([0-9]+[smhd])?$`)
	for _, g := range r.Groups {
		for _, rule := range g.Rules {
			if !strings.HasPrefix(rule.Alert, "Yuba") || seen[rule.Alert] || !duration.MatchString(rule.For) {
				t.Errorf("alert %q for %q", rule.Alert, rule.For)
			}
			seen[rule.Alert] = true
			checkQuery(t, rule.Alert, rule.Expr)
			if !slices.Contains([]string{"critical", "warning", "info"}, rule.Labels["severity"]) || rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" {
				t.Errorf("%s: %v %v", rule.Alert, rule.Labels, rule.Annotations)
			}
			// A label that the query does not leave is empty in the text.
			for _, m := range regexp.MustCompile(`\$labels\.([a-z_]+)`).FindAllStringSubmatch(fmt.Sprint(rule.Annotations), -1) {
				if strings.Contains(rule.Expr, "by (") && !labelsOf(rule.Expr)[m[1]] {
					t.Errorf("%s: its text names the label %s, which its query leaves out", rule.Alert, m[1])
				}
			}
		}
	}
	if len(seen) < 10 {
		t.Errorf("%d alerts", len(seen))
	}
}

func TestTheScrapeConfigurationIsYAML(t *testing.T) {
	data, err := os.ReadFile(examples + "prometheus.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		ScrapeConfigs []struct {
			MetricsPath string `yaml:"metrics_path"`
		} `yaml:"scrape_configs"`
	}
	if err := yaml.Unmarshal(data, &config); err != nil {
		t.Fatal(err)
	}
	// As internal/gateway/content has it, which this package does not know.
	if len(config.ScrapeConfigs) != 1 || config.ScrapeConfigs[0].MetricsPath != "/apis/content.yuba.dev/v1alpha1/metrics" {
		t.Errorf("%+v", config)
	}
}

func TestMistakesInQueriesAreFound(t *testing.T) {
	for _, query := range []string{"sum(yuba_runner_up", "sum(yuba_runner_up))", "sum{yuba_runner_up)", "yuba_runner_up ; 1", `yuba_objects{kind="x}`} {
		if _, err := metricsOf(query); err == nil {
			t.Errorf("%s: no mistake was found", query)
		}
	}
	for _, c := range []struct {
		metric, label string
		want          bool
	}{{"yuba_objects", "reason", true}, {"yuba_objects", "outcome", false}, {"yuba_run_duration_seconds_bucket", "le", true}, {"yuba_run_duration_seconds_sum", "le", false},
		{"yuba_run_duration_seconds_count", "purpose", true}, {"yuba_runner_up", "namespace", false}} {
		if hasLabel(c.metric, c.label) != c.want {
			t.Errorf("%s has the label %s: %v", c.metric, c.label, !c.want)
		}
	}
	if got, err := metricsOf(`sum by (kind) (rate(yuba_x_total{kind!="y"}[5m])) / yuba_z > 0.2`); err != nil || fmt.Sprint(got) != "[yuba_x_total yuba_z]" {
		t.Errorf("%v, %v", got, err)
	}
}
