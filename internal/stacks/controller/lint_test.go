// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/stacks/decide"
)

// documentedReasons are the values of the API's constants Reason*.
func documentedReasons(t *testing.T) []string {
	t.Helper()
	return append(constants(t, "../../../api/infra/v1alpha2/conditions.go"), meta.ProgressingReason, meta.SuspendedReason)
}

// constants reads the values of the constants Reason* of a file.
func constants(t *testing.T, file string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 || !strings.HasPrefix(spec.Names[0].Name, "Reason") {
			return true
		}
		if literal, ok := spec.Values[0].(*ast.BasicLit); ok {
			value, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, value)
		}
		return true
	})
	if len(values) < 20 {
		t.Fatalf("%s: only %d reasons found", file, len(values))
	}
	return values
}

// lint checks the rules for every stack's conditions.
func lint(t *testing.T, obj *infrav1.Terraform) {
	t.Helper()
	reasons := documentedReasons(t)
	if conditions.Of(obj, infrav1.ConditionReady).Type == "" {
		t.Error("the stack has no condition Ready")
	}
	for _, c := range obj.Status.Conditions {
		if !slices.Contains(infrav1.OwnedConditions(), c.Type) {
			t.Errorf("condition %s is not one of a stack's", c.Type)
		}
		if !slices.Contains(reasons, c.Reason) {
			t.Errorf("condition %s: reason %q is not documented", c.Type, c.Reason)
		}
		if c.Message == "" {
			t.Errorf("condition %s: no message", c.Type)
		}
		if c.ObservedGeneration > obj.Generation || c.Type == infrav1.ConditionReady && c.ObservedGeneration != obj.Generation {
			t.Errorf("condition %s speaks of generation %d of %d", c.Type, c.ObservedGeneration, obj.Generation)
		}
	}
	stalled, reconciling := conditions.Of(obj, infrav1.ConditionStalled), conditions.Of(obj, infrav1.ConditionReconciling)
	if stalled.Status == metav1.ConditionTrue && reconciling.Status == metav1.ConditionTrue {
		t.Error("the stack is stalled and reconciling at once")
	}
	for _, c := range []metav1.Condition{stalled, reconciling} {
		if c.Type != "" && c.Status != metav1.ConditionTrue {
			t.Errorf("condition %s is there without being true", c.Type)
		}
	}
}

// Decisions use the API's reasons. decide imports nothing, so only a test can check that.
func TestDecisionsHaveTheAPIsReasons(t *testing.T) {
	for ours, apis := range map[string]string{
		decide.ReasonAccessDenied: infrav1.ReasonAccessDenied, decide.ReasonArtifactFailed: infrav1.ReasonArtifactFailed,
		decide.ReasonVarsGeneration: infrav1.ReasonVarsGenerationFailed, decide.ReasonLockHeld: infrav1.ReasonLockHeld,
		decide.ReasonStateUnreadable: infrav1.ReasonStateUnreadable, decide.ReasonSuspended: infrav1.ReasonSuspended,
		decide.ReasonProgressing: infrav1.ReasonProgressing, decide.ReasonAwaitingApproval: infrav1.ReasonPlannedWithChanges,
		decide.ReasonRejected: infrav1.ReasonPlanRejected, decide.ReasonDependencyNotReady: infrav1.ReasonDependencyNotReady,
		decide.ReasonDependencyCycle: infrav1.ReasonDependencyCycle, decide.ReasonDeletionBlocked: infrav1.ReasonDeletionBlockedByDependants,
		decide.ReasonBreakTheGlass: infrav1.ReasonBreakTheGlass, decide.ReasonRetryLimit: infrav1.ReasonRetryLimitReached,
		decide.ReasonForceUnlock: infrav1.ReasonForceUnlock, decide.ReasonLockOrphaned: infrav1.ReasonLockOrphaned,
		decide.ReasonReplan: infrav1.ReasonReplanRequested,
	} {
		if ours != apis {
			t.Errorf("decide says %q where the API says %q", ours, apis)
		}
	}
}
