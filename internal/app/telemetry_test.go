// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/testkit/tracetest"
)

// spansOf are the names of the spans of a run's trace.
func spansOf(c *tracetest.Collector, run string) []string {
	var names []string
	id := sha256.Sum256([]byte("run " + run)) // the trace's id is its beginning
	for _, span := range c.Spans() {
		if bytes.HasPrefix(id[:], span.TraceId) {
			names = append(names, span.Name)
		}
	}
	return names
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// tokenFor makes a service account that may scrape, if it may, and a token of it.
func tokenFor(t *testing.T, namespace string, may bool) string {
	t.Helper()
	c := apitest.Client(t)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "prometheus-"}}
	if err := c.Create(t.Context(), account); err != nil {
		t.Fatal(err)
	}
	if may {
		binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: account.Name + "-" + namespace}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "yuba:metrics"},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: account.Name}}}
		if err := c.Create(t.Context(), binding); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Delete(context.Background(), binding) }) //nolint:errcheck // goes with the API
	}
	api, err := kubernetes.NewForConfig(apitest.API(t).RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	token, err := api.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), account.Name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return token.Status.Token
}

// scraped asks for metrics with a token.
func scraped(t *testing.T, url, token string) (status int, body string) {
	t.Helper()
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, Timeout: time.Minute}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// inlineStack is one that needs no source.
func inlineStack(namespace string) *infrav1.Terraform {
	return &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "vpc"}, Spec: infrav1.TerraformSpec{
		Interval: metav1.Duration{Duration: time.Hour}, ApprovePlan: "auto",
		Inline: map[string]string{"main.tf": "resource \"terraform_data\" \"x\" {}\n"}}}
}

// What a run does is seen in the metrics, in the figures and in a trace.
func TestARunIsSeenByMachines(t *testing.T) {
	collector := tracetest.OverHTTP(t)
	address := freeAddress(t)
	url := running(t, func(o *ControllerOptions) { o.MetricsAddress, o.MetricsPerObject, o.GitOps = address, true, true })
	namespace := apitest.Namespace(t)
	c := apitest.Client(t)
	if err := c.Create(t.Context(), &sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "infra"},
		Spec: sourcev1.GitRepositorySpec{URL: "http://127.0.0.1:1/none.git", Interval: metav1.Duration{Duration: time.Hour}}}); err != nil {
		t.Fatal(err)
	}
	stack := inlineStack(namespace)
	if err := c.Create(t.Context(), stack); err != nil {
		t.Fatal(err)
	}
	awaits(t, "the stack is applied", func() bool {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(stack), stack); err != nil {
			t.Fatal(err)
		}
		return stack.Status.LastAppliedRun != "" && stack.Status.CurrentRun == nil
	})
	id := stack.Status.LastAppliedRun
	awaits(t, "the trace of "+id, func() bool {
		names := spansOf(collector, id)
		for _, want := range []string{"run", "queue", "prepare", "init", "apply", "record"} {
			if !slices.Contains(names, want) {
				t.Logf("there are the spans %v", names)
				return false
			}
		}
		return true
	})
	metrics := url + content.PathPrefix + "/metrics"
	if status, _ := scraped(t, metrics, ""); status != http.StatusForbidden && status != http.StatusUnauthorized {
		t.Errorf("a stranger is answered %d", status)
	}
	if status, _ := scraped(t, metrics, tokenFor(t, namespace, false)); status != http.StatusForbidden {
		t.Errorf("who may not scrape is answered %d", status)
	}
	token := tokenFor(t, namespace, true)
	want := []string{
		`yuba_runs_total{failure="",operation="plan-and-apply",outcome="succeeded",purpose="deploy"} `,
		`yuba_objects{kind="Terraform",namespace="` + namespace + `",ready="True",reason="TerraformAppliedSucceed"} 1`,
		`yuba_objects{kind="GitRepository",namespace="` + namespace + `",ready="False",`,
		`yuba_runner_up 1`, `yuba_stack_decisions_total{reason="UpToDate",verb="rest"}`, `yuba_resources_changed_total{action="add"} `,
		`yuba_api_writes_total{method="PATCH",resource="terraforms.infra.contrib.fluxcd.io/status"}`, `yuba_source_look_duration_seconds_count{kind="GitRepository",result="failed"}`,
		`controller_runtime_reconcile_time_seconds_count{controller="stack"}`, `workqueue_depth{`, `process_resident_memory_bytes`, `go_goroutines`,
		`gotk_reconcile_duration_seconds_count{kind="Terraform",name="vpc",namespace="` + namespace + `"} 1`, `gotk_resource_info{`,
	}
	for place, scrape := range map[string]func() (int, string){
		"below the API": func() (int, string) { return scraped(t, metrics, token) },
		"by itself":     func() (int, string) { return scraped(t, "http://"+address+"/metrics", "") },
	} {
		awaits(t, "the metrics "+place, func() bool {
			status, body := scrape()
			missing := ""
			for _, line := range want {
				if !strings.Contains(body, line) {
					missing += "\n" + line
				}
			}
			if status != http.StatusOK || missing != "" {
				t.Logf("%s: answered %d, without%s", place, status, missing)
				return false
			}
			return true
		})
	}
	contents, err := content.NewClient(apitest.API(t).RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	f, err := contents.Figures(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// Stacks of other tests are on the same API, and their runs may all have been slower.
	crowded := len(f.Slowest) == 10
	ours := slices.IndexFunc(f.Slowest, func(s content.EndedRun) bool { return s.Namespace == namespace && s.Name == "vpc" })
	if f.Ended < 1 || f.Places < 1 || f.Server.MemoryBytes == 0 || f.Runner == nil || !f.RunnerAlive || ours < 0 && !crowded || ours >= 0 && time.Duration(f.Slowest[ours].Took) <= 0 {
		t.Errorf("figures: %+v", f)
	}
}

func TestMetricsAreServedToThisMachineOnly(t *testing.T) {
	installPrograms(t)
	opts := controllerOptions(t)
	opts.MetricsAddress = "0.0.0.0:0"
	if err := RunController(t.Context(), opts); err == nil || !strings.Contains(err.Error(), "--metrics-address 0.0.0.0:0: other machines could reach") {
		t.Errorf("got %v", err)
	}
}

// awaits polls until something is so.
func awaits(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); time.Sleep(500 * time.Millisecond) {
		if is() {
			return
		}
	}
	t.Fatalf("not in three minutes: %s", what)
}
