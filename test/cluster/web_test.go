// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// forward forwards a port of this machine to that of the page of a Pod, as people do with kubectl.
func forward(t *testing.T, pod string) string {
	t.Helper()
	cmd := exec.Command(filepath.Join(tofutest.RepositoryRoot(t), "bin", "yuba"), "kubectl", "--kubeconfig", *kubeconfig, "-n", system, "port-forward", "pod/"+pod, ":http")
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill() //nolint:errcheck // it may have ended with its Pod
		cmd.Wait()         //nolint:errcheck // it was killed
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	must(t, err)
	address, _, found := strings.Cut(strings.TrimPrefix(line, "Forwarding from "), " ->")
	if !found {
		t.Fatalf("port-forward prints %q", line)
	}
	return "http://" + address
}

// visitor is a browser without JavaScript.
type visitor struct {
	*testing.T
	cookies map[string]string
}

// ask sends a request and returns the answer's code and body. An error counts as an answer: Pods may
// just have ended.
func (v *visitor) ask(method, address string, form url.Values) (int, string) {
	v.Helper()
	r, err := http.NewRequestWithContext(v.Context(), method, address, strings.NewReader(form.Encode()))
	must(v.T, err)
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	for name, value := range v.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close() //nolint:errcheck // read only
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	for _, cookie := range response.Cookies() {
		v.cookies[cookie.Name] = cookie.Value
	}
	return response.StatusCode, string(body)
}

// reviewer makes a service account that may approve plans in the namespace, and returns its token.
func (tm *team) reviewer(name string) string {
	tm.t.Helper()
	tm.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}})
	tm.create(&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: tm.name, Name: name}}})
	return strings.TrimSpace(do(tm.t, "", "yuba", "kubectl", "create", "token", name, "-n", tm.name))
}

// Somebody reaches the page by a forwarded port, logs in with a token and approves a plan, which runs in a
// Pod. Any replica knows the session, also when the one that leads is lost.
func TestAPlanIsApprovedOnThePage(t *testing.T) {
	mine, other := newTeam(t, false), newTeam(t, false)
	token := mine.reviewer("ada")
	for _, tm := range []*team{mine, other} {
		tm.deploy("app", `resource "terraform_data" "it" { input = "hello" }`, func(s *infrav1.TerraformSpec) { s.ApprovePlan = "" })
	}
	waiting := mine.await("app", "its plan waits", func(obj *infrav1.Terraform) string {
		if !obj.AwaitsApproval() {
			return "no plan waits"
		}
		return ""
	})
	pods := leaders(t)
	leader, standby := forward(t, pods[0].Name), forward(t, pods[1].Name)
	ada := &visitor{t, map[string]string{}}
	if code, body := ada.ask(http.MethodPost, standby+"/login", url.Values{"token": {"not a token"}}); code != http.StatusUnauthorized {
		t.Errorf("a wrong token: %d %s", code, body)
	}
	if code, body := ada.ask(http.MethodPost, standby+"/login", url.Values{"token": {token}}); code != http.StatusSeeOther {
		t.Fatalf("log in with a token: %d %s", code, body)
	}
	if code, body := ada.ask(http.MethodGet, leader+"/stacks", nil); code != http.StatusOK || !strings.Contains(body, mine.name+"/app") || strings.Contains(body, other.name) {
		t.Errorf("the list of stacks: %d %s", code, body)
	}
	page := "/stacks/" + mine.name + "/app"
	if code, body := ada.ask(http.MethodGet, standby+page+"/plan", nil); code != http.StatusOK || !strings.Contains(body, "terraform_data.it") {
		t.Errorf("the plan: %d %s", code, body)
	}
	if code, _ := ada.ask(http.MethodGet, leader+"/stacks/"+other.name+"/app", nil); code != http.StatusForbidden {
		t.Errorf("the stack of others: %d", code)
	}
	decision := url.Values{"plan": {waiting.Status.Plan.Pending}, "digest": {waiting.Status.Plan.Digest}}
	if code, body := ada.ask(http.MethodPost, standby+page+"/approve", decision); code != http.StatusSeeOther {
		t.Fatalf("approve: %d %s", code, body)
	}
	mine.await("app", "is applied", applied)
	kill(t, &pods[0])
	eventually(t, "the next leader knows the session", func() string {
		code, body := ada.ask(http.MethodGet, standby+page, nil)
		if code == 0 { // kubectl ends with a connection that the lost Pod broke
			standby = forward(t, pods[1].Name)
		}
		if code != http.StatusOK || !strings.Contains(body, "ready") {
			return fmt.Sprintf("%d: %s", code, body)
		}
		return ""
	})
}
