// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/backend"
	"github.com/yuba-dev/yuba/internal/runs/executor/records"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// Blobs is the part of the blob store that the executor uses.
type Blobs interface {
	records.Blobs
	OpenArtifact(ctx context.Context, digest string) (io.ReadCloser, error)
}

// States is the part of the state store that the executor uses.
type States interface {
	Read(ctx context.Context, key state.Key, options ...state.ReadOption) (*state.Snapshot, error)
	Write(ctx context.Context, key state.Key, w state.WriteRequest) (state.Version, error)
	FinishWrite(ctx context.Context, key state.Key, w state.WriteRequest) (v state.Version, wrote bool, err error)
	Lock(ctx context.Context, key state.Key, info state.LockInfo) error
	Unlock(ctx context.Context, key state.Key, id string) error
	Push(ctx context.Context, key state.Key, request state.PushRequest) (state.Version, error)
	Rollback(ctx context.Context, key state.Key, versionID string, by state.By) (state.Rollback, error)
	Room(ctx context.Context, key state.Key, now *state.Snapshot, labels map[string]string) error
	Find(ctx context.Context, key state.Key, digest string) (state.Version, []byte, error)
	ReadVersion(ctx context.Context, key state.Key, id string) (state.Version, []byte, error)
}

// Permission is the answer to whether a run may begin its apply.
type Permission struct {
	Go     bool
	Reason string
	// Until is when the answer may be another one, although nothing changed; zero for never.
	Until time.Time
}

// Options configure an Executor. Functions may be nil, and must not block unless stated.
type Options struct {
	Blobs  Blobs
	States States
	// Backend starts the runners; without one, any runner may poll. Lease is how long a runner that
	// does not poll keeps its runs, unless the backend knows that it works; 0 means lease.Default.
	Backend backend.Backend
	Lease   time.Duration
	// LiveDir holds the logs of runs in hand.
	LiveDir string
	// ShellDir is where processes of shells hold their locks, see run.ShellDir. ShellPatience is
	// how long one may take to fetch its run, 0 means 30 seconds.
	ShellDir      string
	ShellPatience time.Duration
	// ReadPatience is how long the end of an apply waits for evidence; 0 means 5 minutes.
	ReadPatience time.Duration
	// Permit may veto an apply before it begins; an error means "try again". It may block.
	Permit func(ctx context.Context, rec run.Record, plan *run.PlanResult) (Permission, error)
	// Review may refuse the plan of a run with Spec.Review; an error means "try again". May block.
	Review func(ctx context.Context, rec run.Record, plan *run.PlanResult) (Permission, error)
	// Inspect may refuse the installed configuration of a run with Spec.ReviewInit; an error means "try
	// again". May block.
	Inspect func(ctx context.Context, rec run.Record, installed *run.Installed) (Permission, error)
	// Proposed returns the state that a speculative plan gets in place of the current one.
	Proposed func(ctx context.Context, rec run.Record) (*state.Snapshot, error)
	// Notices returns warnings about the versions of modules and providers that a run resolved.
	Notices func(run.Uses) []string
	// Changing gets runs that plan and apply with one process when they begin to change something.
	Changing func(run.Record)
	// Ended gets the stack of each run that has ended, or that now waits for something else.
	Ended func(run.Stack)
	// Observe gets the record of each run that ended under this server, once, before Ended.
	Observe func(run.Record)
	// Reviews is how many speculative plans may execute at a time, 0 for any number.
	Reviews int
	// NamespaceLimit is how many runs of a namespace may execute at a time, 0 for any number.
	NamespaceLimit func(namespace string) int
	// Busy is called at each change with whether runs are in hand.
	Busy func(bool)
	// Credential is the runners' own bearer token. Identify finds the home of a runner with a
	// credential of its own, empty for strangers. It may block; an error means "try again".
	Credential string
	Identify   func(ctx context.Context, token string) (home string, err error)
	// Token issues a token of the service account of a run's stack for an audience; nil where Pods
	// have them. It may block.
	Token func(ctx context.Context, rec run.Record, audience string) (run.IdentityToken, error)
	// Registry serves the downloads of runs; nil without one.
	Registry Registry
	// Holder names this server in locks, such as "yuba@host".
	Holder  string
	Version string
	Log     *slog.Logger
}

// Registry is the server's registry of modules and providers. Both methods must not block.
type Registry interface {
	// About tells a run about it; nil while there is none. It asks nobody.
	About(spec *run.Spec) *run.Registry
	// For answers requests of the run below /v1/, with the rights of the run's service account. URLs
	// in its answers are relative, or begin with /v1/: the run has no other way to the registry. The
	// handler tells what the run waits for while it downloads the run's tool, and with an empty text
	// that this is over.
	For(spec *run.Spec, tell func(waits string)) http.Handler
}

// shellPatience is the default of Options.ShellPatience.
const shellPatience = 30 * time.Second

// withDefaults completes the options.
func (o Options) withDefaults() *Options {
	permit := func(context.Context, run.Record, *run.PlanResult) (Permission, error) {
		return Permission{Go: true}, nil
	}
	review := func(context.Context, run.Record, *run.PlanResult) (Permission, error) {
		return Permission{Reason: "this server reviews no plans"}, nil
	}
	inspect := func(context.Context, run.Record, *run.Installed) (Permission, error) {
		return Permission{Reason: "this server reviews no configurations"}, nil
	}
	ignore := func(run.Record) {}
	o.Log = cmp.Or(o.Log, slog.Default())
	o.ShellPatience = cmp.Or(o.ShellPatience, shellPatience)
	if o.Backend == nil {
		o.Backend = noBackend{}
	}
	if o.Permit == nil {
		o.Permit = permit
	}
	if o.Review == nil {
		o.Review = review
	}
	if o.Inspect == nil {
		o.Inspect = inspect
	}
	if o.Notices == nil {
		o.Notices = func(run.Uses) []string { return nil }
	}
	if o.Changing == nil {
		o.Changing = ignore
	}
	if o.Observe == nil {
		o.Observe = ignore
	}
	if o.Ended == nil {
		o.Ended = func(run.Stack) {}
	}
	if o.Busy == nil {
		o.Busy = func(bool) {}
	}
	return &o
}

// makeDirs makes the directories of live logs and, if there is one, of shells.
func (o *Options) makeDirs() error {
	for _, dir := range []string{o.LiveDir, cmp.Or(o.ShellDir, o.LiveDir)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("prepare a directory for runs: %w", err)
		}
	}
	return nil
}
