// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

func TestWhatIsNotUndone(t *testing.T) {
	change := func(verb run.StateVerb) run.Spec {
		return run.Spec{Operation: run.OperationState, StateChange: &run.StateChange{Verb: verb}}
	}
	const restore = "yuba state restore vpc VERSION"
	for sentence, test := range map[string]struct {
		spec   run.Spec
		before string
		wants  []string
	}{
		"a move is":                     {change(run.StateMove), "one", nil},
		"a push is":                     {change(run.StatePush), "one", nil},
		"an earlier undo is":            {change(run.StateRollback), "one", nil},
		"an apply is not":               {run.Spec{Operation: run.OperationApply}, "one", []string{"it changed real resources", restore}},
		"nor a shell's, which may be":   {run.Spec{Operation: run.OperationShell}, "one", []string{"may have changed real resources", restore}},
		"nor a migration":               {change(run.StateMigrate), "one", []string{"yuba state migrate vpc --to BACKEND"}},
		"nor back to another lineage":   {change(run.StatePush), "two", []string{"another lineage, two", restore}},
		"nor a migration of a lineage ": {change(run.StateMigrate), "two", []string{"yuba state migrate vpc --to BACKEND"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := noUndo(run.Record{Spec: test.spec}, state.Version{Lineage: "one"}, state.Version{Lineage: test.before}, "vpc")
			if test.wants == nil && got != "" {
				t.Errorf("it is refused: %s", got)
			}
			for _, want := range test.wants {
				if !strings.Contains(got, want) {
					t.Errorf("%q lacks %q", got, want)
				}
			}
		})
	}
}

func TestTheInverseOfAChange(t *testing.T) {
	for want, c := range map[string]run.StateChange{
		"yuba state mv vpc a.c 'a.b[\"x\"]'":          {Verb: run.StateMove, Args: []string{`a.b["x"]`, "a.c"}},
		"yuba state replace-provider vpc p/two p/one": {Verb: run.StateReplaceProvider, Args: []string{"p/one", "p/two"}},
		"yuba state untaint vpc a.b":                  {Verb: run.StateTaint, Args: []string{"a.b"}},
		"yuba state taint vpc a.b":                    {Verb: run.StateUntaint, Args: []string{"a.b"}},
		"yuba state rm vpc a.b":                       {Verb: run.StateImport, Args: []string{"a.b", "id"}},
		"yuba state import vpc a.b ID":                {Verb: run.StateRemove, Args: []string{"a.b"}},
		"yuba state import vpc ADDRESS ID":            {Verb: run.StateRemove, Args: []string{"a.b", "a.c"}},
		"":                                            {Verb: run.StateRefresh, Args: []string{"a.b"}},
	} {
		if got := inverse("vpc", c); got != want {
			t.Errorf("of %s %v: got %q, want %q", c.Verb, c.Args, got, want)
		}
	}
}

func TestWhatDoesNotEndAConsole(t *testing.T) {
	wrap := func(err error) error { return fmt.Errorf("console of a/b: %w", err) }
	for sentence, test := range map[string]struct {
		err  error
		want bool
	}{
		"an expression that fails":  {ui.Exitf(ui.ExitRunFailed, "no"), true},
		"another run":               {wrap(apierrors.NewConflict(schema.GroupResource{}, "b", errors.New("busy"))), true},
		"a line that is too long":   {wrap(apierrors.NewBadRequest("too long")), true},
		"an end of the server":      {wrap(apierrors.NewInternalError(errors.New("down"))), false},
		"a connection that is lost": {wrap(errors.New("connection refused")), false},
		"a stack that is gone":      {ui.Exitf(ui.ExitNotFound, "gone"), false},
	} {
		if got := isOfExpression(test.err); got != test.want {
			t.Errorf("%s: %v", sentence, got)
		}
	}
}
