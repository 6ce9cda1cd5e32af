// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// slow takes some seconds to be applied, says what it does, and has text that would be markup.
const slow = `
resource "terraform_data" "slow" {
  input = { name = "<img src=x onerror=alert(1)>", text = "a\u202eb" }
  provisioner "local-exec" {
    command = "for i in 1 2 3 4; do printf '\\033[31mstep %s\\033[0m <script>alert(1)</script>\\n' $i; sleep 1; done"
  }
}
resource "terraform_data" "more" {
  count = COUNT
  input = "more ${count.index}"
}
output "key" {
  value     = "hunter2"
  sensitive = true
}`

// A plan is read and approved on the page of its stack, its apply is seen while it runs, and the state is
// compared and rolled back there.
func TestThePageOfAStack(t *testing.T) {
	s, namespace := common(t)
	s.waits(t, namespace, "slow", strings.ReplaceAll(slow, "COUNT", "1"))
	b := newTab(t, s)
	b.login()
	page := "/stacks/" + namespace + "/slow"
	b.open(page)
	b.sees("#stack-now", "waits for approval: +2 ~0 -0")
	b.do(chromedp.Click(`.tabs a[href="` + page + `/plan"]`))
	b.sees("#stack-plan", `name = "<img src=x onerror=alert(1)>"`)
	b.sees("#stack-plan", `text = "a\u202eb"`)
	b.do(chromedp.Click(`form[action="`+page+`/approve"] button`), chromedp.WaitVisible("#ask"), chromedp.Click(`#ask button[value="yes"]`))
	b.sees("#notice", "is approved and will be applied")

	// The run is there, and its log grows without the page being loaded again.
	b.open(page + "/runs")
	b.sees("#stack-runs", "apply")
	b.do(chromedp.Click("#stack-runs tbody tr:first-child a"))
	b.sees("#stack-log", "step 1 <script>")
	b.sees("#stack-resources", "terraform_data.slow")
	b.do(chromedp.Evaluate(`document.body.dataset.mine = "here"`, nil))
	b.sees("#stack-log", "step 4 <script>")
	b.sees("#stack-run", "succeeded")
	var mine string
	b.do(chromedp.Evaluate(`document.body.dataset.mine || ""`, &mine))
	if mine != "here" {
		t.Error("the page was loaded again while the log grew")
	}
	if red := b.text("#stack-log .term-fg31"); red != "step 1" {
		t.Errorf("what is red in the log: %q", red)
	}

	b.open(page + "/outputs")
	b.sees("#stack-outputs", "(sensitive value)")
	b.do(chromedp.Click("#output-key a"))
	b.sees("#stack-outputs", "hunter2")

	// A second apply makes a second version, which is compared with the first and rolled back.
	s.yuba(t, "deploy", program(t, strings.ReplaceAll(slow, "COUNT", "2")), "--name", "slow", "-n", namespace, "--yes")
	b.open(page + "/states")
	b.do(chromedp.Click("#stack-states button.main"))
	b.sees("#stack-state-diff", "terraform_data.more[1] is in the state")
	b.do(chromedp.Click("#stack-states .backs li:first-child button"), chromedp.WaitVisible("#ask"), chromedp.Click(`#ask button[value="yes"]`))
	b.sees("#notice", "A fresh plan is requested")
	s.settles(t, namespace, "slow", func(stack *infrav1.Terraform) bool { return stack.AwaitsApproval() })
	b.open(page + "/plan")
	b.sees("#stack-plan", "terraform_data.more[1] will be created")

	// Deleting it needs its name.
	b.open(page)
	b.do(chromedp.Click("details.typed:last-of-type summary"), chromedp.SendKeys("details[open] input[name=typed]", "slow"), chromedp.Click("details[open] button.danger"))
	b.sees("h1", "Stacks")
	b.open(page)
	b.sees("h1", "is gone")
	b.expect("404")
}
