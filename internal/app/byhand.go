// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"os"
	"path/filepath"

	"github.com/yuba-dev/yuba/internal/runs/run"
	stacks "github.com/yuba-dev/yuba/internal/stacks/controller"
)

// serveByHand lets people change states and open shells.
func (e *engine) serveByHand(r *stacks.Reconciler) {
	e.content.Operate = r.Operate
	e.content.NoShell = "this server opens no shells: it was started without --allow-break-the-glass"
	if e.opts.AllowBreakTheGlass {
		e.content.NoShell, e.content.Grant = "", e.grant
	}
}

// grant is what a person's own process needs to carry out a shell's run on this machine.
func (e *engine) grant(rec run.Record) run.ShellGrant {
	return run.ShellGrant{ID: rec.Spec.ID, Token: rec.Token, Host: hostname(), URL: e.endpoint.url(), Dir: e.dir.Runner(), WorkRoot: e.dir.Work(),
		ProviderMirror: e.providerMirror(), ProviderStore: e.providerStore(), Tofu: e.tool.path, Tools: e.toolDir(), Sandbox: e.tool.sandbox}
}

func (e *engine) shellDir() string { return filepath.Join(e.dir.Runner(), run.ShellDir) }

func (e *engine) providerMirror() string {
	if e.opts.ProviderMirror != "" {
		return e.opts.ProviderMirror
	}
	return e.dir.Providers()
}

func (e *engine) toolDir() string { return e.opts.toolDir(e.dir.Tools()) }

func (o Common) toolDir(standard string) string {
	if o.Tools != "" {
		return o.Tools
	}
	return standard
}

func hostname() string {
	host, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return host
}
