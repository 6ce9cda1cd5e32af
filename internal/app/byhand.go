// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"os"
	"path/filepath"

	"github.com/yuba-dev/yuba/internal/runs/run"
	stacks "github.com/yuba-dev/yuba/internal/stacks/controller"
)

// serveByHand serves manual changes of states, and shells.
func (e *engine) serveByHand(r *stacks.Reconciler) {
	e.content.Operate = r.Operate
	e.content.NoShell = "this server does not open shells: it was started without --allow-break-the-glass"
	if e.opts.AllowBreakTheGlass {
		e.content.NoShell, e.content.Grant = "", e.grant
	}
}

// grant returns what a person's process needs to execute a shell on this machine.
func (e *engine) grant(rec run.Record) run.ShellGrant {
	return run.ShellGrant{ID: rec.Spec.ID, Token: rec.Token, Host: hostname(), URL: e.endpoint.url(), Dir: e.dir.Runner(), WorkRoot: e.dir.Work(),
		ProviderMirror: e.providerMirror(), ProviderStore: e.providerStore(), Tofu: e.tool.path, Tools: e.toolDir(), Sandbox: e.tool.sandbox}
}

func (e *engine) shellDir() string { return filepath.Join(e.dir.Runner(), run.ShellDir) }

func (e *engine) providerMirror() string { return cmp.Or(e.opts.ProviderMirror, e.dir.Providers()) }

func (e *engine) toolDir() string { return e.opts.toolDir(e.dir.Tools()) }

func (o Common) toolDir(standard string) string { return cmp.Or(o.Tools, standard) }

func hostname() string {
	host, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return host
}
