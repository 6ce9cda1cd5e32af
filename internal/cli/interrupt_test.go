// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

// interrupter presses Ctrl-C when it reads a word.
type interrupter struct {
	bytes.Buffer
	word      string
	interrupt context.CancelFunc
}

func (i *interrupter) Write(p []byte) (int, error) {
	n, err := i.Buffer.Write(p)
	if strings.Contains(i.String(), i.word) {
		i.interrupt()
	}
	return n, err
}

func TestAQuestionEndsWithCtrlC(t *testing.T) {
	in, typing := io.Pipe() // on which nothing is ever typed
	defer typing.Close()
	ctx, cancel := context.WithCancel(t.Context())
	news := &interrupter{word: "Enter a value:", interrupt: cancel}
	a := &ui.Console{In: in, Out: io.Discard, Err: news, Interrupted: ctx.Done()}
	if err := a.Confirm("Destroy everything?"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if text, code := session.Explain(context.Canceled); code != 130 || text != "interrupted" {
		t.Errorf("%d: %s", code, text)
	}
}

func TestWaitingEndsWithCtrlC(t *testing.T) {
	busy := func(vpc *infrav1.Terraform) {
		vpc.Status.CurrentRun = &infrav1.RunReference{ID: "r1", Operation: "plan"}
	}
	for sentence, test := range map[string]struct {
		args   []string
		change func(*infrav1.Terraform)
		// word is in the news once the command waits.
		word string
	}{
		"for a Kustomization":    {args: []string{"reconcile", "kustomization", "root"}, word: "Reconciling"},
		"for a stack":            {args: []string{"reconcile", "vpc"}, change: busy, word: "Waiting for run r1"},
		"for a fresh plan":       {args: []string{"replan", "vpc", "--wait"}, change: busy, word: "Waiting for run r1"},
		"for what was approved":  {args: []string{"approve", "vpc", "--wait"}, change: func(vpc *infrav1.Terraform) { vpc.Status.Plan.Pending = "plan-1" }, word: "is approved."},
		"for a run that goes on": {args: []string{"replan", "vpc", "--wait", "--timeout", "1h"}, change: busy, word: "Waiting for run r1"},
	} {
		t.Run(sentence, func(t *testing.T) {
			ns := landscape(t)
			if test.change != nil {
				vpc := &infrav1.Terraform{}
				if err := apitest.Client(t).Get(t.Context(), types.NamespacedName{Namespace: ns, Name: "vpc"}, vpc); err != nil {
					t.Fatal(err)
				}
				test.change(vpc)
				if err := apitest.Client(t).Status().Update(t.Context(), vpc); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			news := &interrupter{word: test.word, interrupt: cancel}
			code := Execute(ctx, append([]string{"--kubeconfig", apitest.API(t).Kubeconfig(), "-n", ns}, test.args...), strings.NewReader(""), io.Discard, news)
			if code != ui.ExitInterrupted || !strings.Contains(news.String(), test.word) || !strings.Contains(news.String(), "interrupted") || strings.Contains(news.String(), "--timeout") {
				t.Errorf("%d: %s", code, news.String())
			}
		})
	}
}
