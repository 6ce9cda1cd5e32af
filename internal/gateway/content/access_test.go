// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content_test

import (
	"context"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// The API server authorises content like any other resource; this is what its usual roles come to.
func TestWhoMaySeeAndDoWhat(t *testing.T) {
	s := newSite(t)
	s.begin("r1")
	s.runner("r1", "PUT", "/plan.json", []byte(`{}`), 0)
	s.end("r1", run.Result{Outcome: run.OutcomeSucceeded, Plan: &run.PlanResult{Changes: true}})
	version := s.write(1, state.Mark{})
	view, edit, admin := s.as("view"), s.as("edit"), s.as("admin")
	type ask func(context.Context, *content.Client) error
	for sentence, test := range map[string]struct {
		ask   ask
		views bool
		edits bool
		// adminsOnly is for what edit is not enough for.
		adminsOnly bool
	}{
		"logs": {func(ctx context.Context, c *content.Client) error {
			body, err := c.Log(ctx, s.namespace, "vpc", content.LogOptions{Run: "r1"})
			if err == nil {
				body.Close()
			}
			return err
		}, true, true, false},
		"plans": {func(ctx context.Context, c *content.Client) error {
			_, err := c.Plan(ctx, s.namespace, "vpc", "r1")
			return err
		}, true, true, false},
		"runs": {func(ctx context.Context, c *content.Client) error {
			_, err := c.Runs(ctx, s.namespace, "vpc", 0)
			return err
		}, true, true, false},
		"explanations": {func(ctx context.Context, c *content.Client) error {
			_, err := c.Why(ctx, s.namespace, "vpc")
			return err
		}, true, true, false},
		"approvals": {func(ctx context.Context, c *content.Client) error {
			_, err := c.Approve(ctx, s.namespace, "vpc", "plan-1", "sha256:seen")
			return err
		}, false, true, false},
		"the audit log": {func(ctx context.Context, c *content.Client) error {
			_, err := c.Audit(ctx, s.namespace, "vpc")
			return err
		}, false, false, false},
		"another namespace's explanations": {func(ctx context.Context, c *content.Client) error {
			_, err := c.Why(ctx, "default", "vpc")
			return err
		}, false, false, false},
		"the queue of all namespaces": {func(ctx context.Context, c *content.Client) error {
			_, err := c.Queue(ctx)
			return err
		}, false, false, false},
		"figures of all namespaces": {func(ctx context.Context, c *content.Client) error {
			_, err := c.Figures(ctx)
			return err
		}, false, false, false},
		"everybody's providers": {func(ctx context.Context, c *content.Client) error {
			_, err := c.Providers(ctx)
			return err
		}, false, false, false},
		"removing everybody's providers": {func(ctx context.Context, c *content.Client) error {
			_, err := c.RemoveProvider(ctx, "hashicorp/aws", "1.0.0", "")
			return err
		}, false, false, false},
		"states": {func(ctx context.Context, c *content.Client) error {
			_, err := c.State(ctx, s.namespace, "vpc", "")
			return err
		}, false, true, false},
		"versions of states": {func(ctx context.Context, c *content.Client) error {
			_, err := c.Versions(ctx, s.namespace, "vpc")
			return err
		}, false, true, false},
		"outputs": {func(ctx context.Context, c *content.Client) error {
			_, err := c.Outputs(ctx, s.namespace, "vpc")
			return err
		}, false, true, false},
		"rollbacks": {func(ctx context.Context, c *content.Client) error {
			_, err := c.Rollback(ctx, s.namespace, "vpc", version.ID)
			return err
		}, false, true, false},
		"changes of states": {func(ctx context.Context, c *content.Client) error {
			_, err := c.Change(ctx, s.namespace, "vpc", run.StateChange{Verb: "none"}, "")
			if apierrors.IsBadRequest(err) {
				return nil
			}
			return err
		}, false, true, false},
		"shells": {func(ctx context.Context, c *content.Client) error {
			grant, err := c.Shell(ctx, s.namespace, "vpc")
			if err == nil {
				s.end(grant.ID, run.Result{})
			}
			return err
		}, false, false, true},
		"canceling runs": {func(ctx context.Context, c *content.Client) error {
			if _, err := c.Cancel(ctx, s.namespace, "vpc", "none"); !apierrors.IsNotFound(err) {
				return err
			}
			return nil
		}, false, true, false},
		"releasing locks": {func(ctx context.Context, c *content.Client) error {
			if err := c.Unlock(ctx, s.namespace, "vpc", "nobody's"); !apierrors.IsNotFound(err) {
				return err
			}
			return nil
		}, false, true, false},
		"plans of an uploaded directory": {func(ctx context.Context, c *content.Client) error {
			if _, err := c.StartPreview(ctx, s.namespace, "vpc", content.PreviewRequest{}, packed(t, map[string]string{"main.tf": ""})); !apierrors.IsNotFound(err) {
				return err
			}
			return nil
		}, false, true, false},
		"pushes": {func(ctx context.Context, c *content.Client) error {
			_, err := c.Push(ctx, s.namespace, "live", packed(t, map[string]string{"main.tf": ""}))
			return err
		}, false, true, false},
		"another namespace's runs": {func(ctx context.Context, c *content.Client) error {
			_, err := c.Runs(ctx, "default", "vpc", 0)
			return err
		}, false, false, false},
		"backups": {func(ctx context.Context, c *content.Client) error {
			_, err := c.Backup(ctx)
			return err
		}, false, false, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			for role, try := range map[string]struct {
				client *content.Client
				may    bool
			}{"view": {view, test.views}, "edit": {edit, test.edits}, "admin": {admin, test.edits || test.adminsOnly}} {
				eventually(t, func() error {
					err := test.ask(t.Context(), try.client)
					if try.may && err != nil || !try.may && !apierrors.IsForbidden(err) {
						return fmt.Errorf("%s: answered %w, may is %v", role, err, try.may)
					}
					return nil
				})
			}
		})
	}
}
