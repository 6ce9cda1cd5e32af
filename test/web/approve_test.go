// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

const greeting = `resource "terraform_data" "greeting" { input = "hello" }
output "greeting" { value = terraform_data.greeting.output }`

// waits deploys a program whose plan waits for approval.
func (s *server) waits(t *testing.T, namespace, name, hcl string) {
	t.Helper()
	// Plans with equal changes would be one row of the inbox.
	s.deploy(t, namespace, name, fmt.Sprintf("%s\noutput \"whose\" { value = %q }\n", hcl, namespace+"/"+name))
	s.settles(t, namespace, name, func(stack *infrav1.Terraform) bool { return stack.AwaitsApproval() })
}

// deploy makes a stack of a program. Its plan waits for approval, if it has changes.
func (s *server) deploy(t *testing.T, namespace, name, hcl string) {
	t.Helper()
	const waiting = 5 // the exit code while a plan waits
	if out, code := s.run(t, "deploy", program(t, hcl), "--name", name, "-n", namespace); code != 0 && code != waiting {
		t.Fatalf("deploy: exit code %d\n%s", code, out)
	}
}

// settles waits until a stack is as it should be.
func (s *server) settles(t *testing.T, namespace, name string, as func(*infrav1.Terraform) bool) {
	t.Helper()
	var stack infrav1.Terraform
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if err := s.client.Get(t.Context(), types.NamespacedName{Namespace: namespace, Name: name}, &stack); err != nil {
			t.Fatal(err)
		}
		if as(&stack) {
			return
		}
	}
	t.Fatalf("%s/%s stays %q: %v", namespace, name, stack.Status.Summary, stack.Status.Conditions)
}

// A plan that is approved by keyboard alone is applied by tofu, and leaves the inbox by itself.
func TestAPlanIsApprovedByKeyboard(t *testing.T) {
	const namespace = "shop"
	s := ownServer(t)
	if err := s.client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		t.Fatal(err)
	}
	s.waits(t, namespace, "greeting", greeting)
	b := newTab(t, s)
	b.login()
	b.open("/")
	row := "#waits-" + namespace + "\\.greeting"
	b.sees(row, "+1 ~0 -0")
	b.do(chromedp.KeyEvent("j"))
	b.do(chromedp.WaitVisible(row+".at"), chromedp.KeyEvent("a"))
	b.sees("#notice", "is approved")
	b.do(chromedp.WaitNotPresent(row))
	s.settles(t, namespace, "greeting", func(stack *infrav1.Terraform) bool { return stack.Status.Plan.LastApplied != "" })
	b.do(chromedp.KeyEvent("g"), chromedp.KeyEvent("s"))
	b.sees("h1", "Stacks")
	b.sees("#stack-"+namespace+"\\.greeting", "ready")
}

// Who has not logged in sees nothing, and comes back to the page that they asked for.
func TestALoginLeadsBack(t *testing.T) {
	s, _ := common(t)
	b := newTab(t, s)
	b.open("/stacks?q=x")
	if b.path() != "/login" {
		t.Errorf("a page without a login is at %s", b.path())
	}
	b.login()
	b.open("/stacks?q=x")
	b.sees("h1", "Stacks")
	b.do(chromedp.Click(".person summary"), chromedp.Click(".person form button"))
	b.sees("h1", "Log in")
}
