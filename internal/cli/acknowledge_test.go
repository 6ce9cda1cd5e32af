// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

// unprovenStack is a stack whose status lists resources of the runs r1 and r2.
func unprovenStack(t *testing.T, namespace string) *infrav1.Terraform {
	t.Helper()
	stack := &infrav1.Terraform{ObjectMeta: named(namespace, "vpc"), Spec: infrav1.TerraformSpec{Interval: metav1.Duration{Duration: time.Hour},
		SourceRef: &infrav1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "team"}}}
	stack.Status.Unproven = &infrav1.UnprovenStatus{
		Runs: []infrav1.UnprovenRun{{ID: "r1", OlderRuns: 2, More: 4, Note: "the plan is lost"}, {ID: "r2", Named: 1}},
		Resources: []infrav1.UnprovenResource{{Address: "a.b", Object: "i-1", Run: "r1", MayExist: true, Doubt: "may exist, and no state has it"},
			{Address: "a.c", Run: "r2", MayBeGone: true, Doubt: "may be gone, though the state has it"}},
	}
	put(t, stack)
	return stack
}

func acknowledgedOf(t *testing.T, stack *infrav1.Terraform) string {
	t.Helper()
	var now infrav1.Terraform
	if err := apitest.Client(t).Get(context.Background(), client.ObjectKeyFromObject(stack), &now); err != nil {
		t.Fatal(err)
	}
	return now.Annotations[infrav1.AnnotationAcknowledged]
}

// Nothing is acknowledged that nobody has seen: the list is shown first, or was when its run is
// named.
func TestAcknowledge(t *testing.T) {
	for sentence, test := range map[string]struct {
		args []string
		code int
		word string
		news []string
	}{
		"without a terminal it shows the list, and does nothing": {nil, ui.ExitUsage, "", []string{"a.b (i-1): may exist", "a.c: may be gone", "and 4 more of run r1 and 2 earlier ones", "Run r1 and 2 earlier ones: the plan is lost", "--yes"}},
		"with yes all that it shows":                             {[]string{"--yes"}, ui.ExitOK, "r2", []string{"a.b (i-1)", "a.c", "are acknowledged"}},
		"with a run what that and earlier ones have left":        {[]string{"--run", "r1"}, ui.ExitOK, "r1", []string{"a.b (i-1)"}},
		"with addresses these":                                   {[]string{"a.c", "--yes"}, ui.ExitOK, "r2\na.c", []string{"a.c: may be gone"}},
		"with both":                                              {[]string{"a.b", "--run", "r1"}, ui.ExitOK, "r1\na.b", []string{"a.b (i-1)"}},
		"not the address of a later run":                         {[]string{"a.c", "--run", "r1"}, ui.ExitNotFound, "", []string{"a.c is not listed"}},
		"not a run after the last":                               {[]string{"--run", "r3"}, ui.ExitNotFound, "", []string{"run r3 is not listed, the last one is r2"}},
		"nothing of earlier runs":                                {[]string{"--run", "r0"}, ui.ExitNotFound, "", []string{"nothing of run r0 or of earlier runs"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			ns := apitest.Namespace(t)
			stack := unprovenStack(t, ns)
			got := yuba(t, ns, append([]string{"acknowledge", "vpc"}, test.args...)...)
			got.want(t, test.code, "", test.news...)
			if diff := cmp.Diff(test.word, acknowledgedOf(t, stack)); diff != "" {
				t.Errorf("the annotation (-want +got):\n%s", diff)
			}
			if len(test.args) > 1 && test.args[len(test.args)-1] == "r1" && strings.Contains(got.news, "a.c:") {
				t.Errorf("a later run's resource is shown: %s", got.news)
			}
		})
	}
}

func TestAcknowledgeAsksAtATerminal(t *testing.T) {
	for answer, want := range map[string]struct {
		code int
		word string
	}{"yes": {ui.ExitOK, "r2"}, "no": {ui.ExitWaiting, ""}} {
		t.Run(answer, func(t *testing.T) {
			ns := apitest.Namespace(t)
			stack := unprovenStack(t, ns)
			terminal := newTerminal(t, 80, 24)
			if _, err := terminal.master.WriteString(answer + "\n"); err != nil {
				t.Fatal(err)
			}
			var out, news bytes.Buffer
			code := Execute(t.Context(), []string{"--kubeconfig", apitest.API(t).Kubeconfig(), "-n", ns, "acknowledge", "vpc"}, terminal.slave, &out, &news)
			if word := acknowledgedOf(t, stack); code != want.code || word != want.word || !strings.Contains(news.String(), "a.b (i-1)") {
				t.Errorf("code %d, acknowledged %q: %s", code, word, news.String())
			}
		})
	}
}

func TestTheStatusTellsHowToAcknowledge(t *testing.T) {
	ns := apitest.Namespace(t)
	unprovenStack(t, ns)
	got := yuba(t, ns, "status", "vpc").out
	for _, part := range []string{"6 resources may exist, or be gone, without any state proving it:", "Import or remove those that do. Then acknowledge them:", "yuba state import " + ns + "/vpc", "yuba acknowledge " + ns + "/vpc --run r2 [ADDRESS...]"} {
		if !strings.Contains(got, part) {
			t.Errorf("the status lacks %q:\n%s", part, got)
		}
	}
}

// Objects are called what their providers say, and notes may be anything: neither steers the
// terminal or adds lines.
func TestAcknowledgeShowsNothingThatSteersTheTerminal(t *testing.T) {
	ns := apitest.Namespace(t)
	stack := unprovenStack(t, ns)
	changeUnproven(t, stack, func(u *infrav1.UnprovenStatus) {
		u.Resources[0].Object = "i-1\x1b[2J\nforged (i-2): is fine"
		u.Runs[0].Note = "lost\x1b]0;x\x07"
	})
	for _, call := range [][]string{{"acknowledge", "vpc"}, {"status", "vpc"}} {
		got := yuba(t, ns, call...)
		if text := got.out + got.news; strings.ContainsAny(text, "\x1b\x07") || strings.Contains(text, "\n  forged") || !strings.Contains(text, "i-1\\u001b[2J forged") {
			t.Errorf("%s: %q", call[0], text)
		}
	}
}

// changeUnproven changes what a stack's status lists.
func changeUnproven(t *testing.T, stack *infrav1.Terraform, change func(*infrav1.UnprovenStatus)) {
	t.Helper()
	var now infrav1.Terraform
	if err := apitest.Client(t).Get(t.Context(), client.ObjectKeyFromObject(stack), &now); err != nil {
		t.Fatal(err)
	}
	change(now.Status.Unproven)
	if err := apitest.Client(t).Status().Update(t.Context(), &now); err != nil {
		t.Fatal(err)
	}
}

// Masked addresses may look the same: their digests tell which one is meant.
func TestAMaskedAddressIsAcknowledgedByItsDigest(t *testing.T) {
	ns := apitest.Namespace(t)
	stack := unprovenStack(t, ns)
	changeUnproven(t, stack, func(u *infrav1.UnprovenStatus) {
		for i, digest := range []string{"beef", "f00d"} {
			u.Resources[i].Address, u.Resources[i].Match = "a.(sensitive)", digest
		}
	})
	if got := yuba(t, ns, "status", "vpc").out; !strings.Contains(got, "a.(sensitive) [beef] (i-1): may exist") {
		t.Error(got)
	}
	got := yuba(t, ns, "acknowledge", "vpc", "f00d", "--yes")
	got.want(t, ui.ExitOK, "", "a.(sensitive) [f00d]: may be gone")
	if word := acknowledgedOf(t, stack); word != "r2\nf00d" || strings.Contains(got.news, "beef") {
		t.Errorf("acknowledged %q: %s", word, got.news)
	}
}

// Nothing can be imported at an address that the state has.
func TestTheStatusDoesNotAdviseToImportOverAnObject(t *testing.T) {
	ns := apitest.Namespace(t)
	stack := unprovenStack(t, ns)
	changeUnproven(t, stack, func(u *infrav1.UnprovenStatus) {
		u.Runs[0].More, u.Runs[0].Note, u.Resources[0].Replaces = 0, "", true
	})
	got := yuba(t, ns, "status", "vpc").out
	if strings.Contains(got, "state import") || !strings.Contains(got, "compare its id with the real object. Then acknowledge them:") {
		t.Error(got)
	}
}
