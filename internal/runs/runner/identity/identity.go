// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package identity gives runs the tokens by which they log in to clouds.
//
// A token is a file beside the working directory, which the program can read and not change. In a
// Pod, the kubelet mounts and renews it. Otherwise the server issues it, and [Tokens] asks for
// another one when most of its life is over. Tokens are removed with the run's other secrets.
//
// The run's log masks each token before the program can read it, or, in a Pod, before what the
// program printed is masked. The spool keeps them all, so that a later runner masks them, too.
package identity

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/link"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// Environment are the variables of identities, with the paths in a working directory.
func Environment(identities []run.Identity, base string, pod bool) []run.EnvVar {
	var env []run.EnvVar
	for _, i := range identities {
		for _, e := range i.Env {
			e.Value = place(e.Value, i, base, pod)
			env = append(env, e)
		}
	}
	return env
}

// place replaces the placeholders of paths.
func place(text string, i run.Identity, base string, pod bool) string {
	token := filepath.Join(base, tokenOf(i))
	if pod {
		token = i.MountedToken()
	}
	return strings.NewReplacer(run.IdentityPath, token, run.IdentityConfig, filepath.Join(base, configOf(i))).Replace(text)
}

func tokenOf(i run.Identity) string {
	return path.Join(workspace.GivenDir, "identity", i.Name(), "token")
}

func configOf(i run.Identity) string {
	return path.Join(workspace.GivenDir, "identity", i.Name(), "config.json")
}

// Tokens are those of one run.
type Tokens struct {
	run  *execution.Run
	site *execution.Site

	first   []run.IdentityToken
	mounted *mounted
	stop    context.CancelFunc
	ended   sync.WaitGroup
}

// New makes the tokens of a run, which does not need to have any.
func New(t *execution.Run, at *execution.Site) *Tokens { return &Tokens{run: t, site: at} }

// Open makes the run's mask hide its tokens: those of earlier runners, and, for a new run, the first
// ones, which it gets.
func (k *Tokens) Open(ctx context.Context, fresh bool) error {
	k.first = nil
	if len(k.run.Spec.Identities) == 0 {
		return nil
	}
	for _, token := range k.run.Dir.IdentityTokens() {
		k.run.Mask.Add(token)
	}
	if k.run.Opts.Pod {
		k.mounted = watch(k.run.Mask, k.run.Spec.Identities, run.Identity.MountedToken)
	}
	if !fresh {
		return nil
	}
	for _, i := range k.run.Spec.Identities {
		token, err := k.get(ctx, i)
		var disk *fault.Failure
		if errors.As(err, &disk) {
			return err
		}
		if err != nil {
			return fault.New(run.FailureConfiguration, "get a token for the audience %s: %w", i.Audience, err)
		}
		k.first = append(k.first, token)
	}
	return nil
}

// get asks the server for a token and masks it. In a Pod, it only checks that there is one.
func (k *Tokens) get(ctx context.Context, i run.Identity) (token run.IdentityToken, err error) {
	if k.run.Opts.Pod {
		_, err := os.Stat(i.MountedToken())
		return token, err
	}
	if _, err = k.run.Persist(ctx, link.Request{Method: http.MethodGet, Path: "/identity?audience=" + url.QueryEscape(i.Audience), Into: &token}); err != nil {
		return token, err
	}
	k.run.Mask.Add(token.Token)
	if err := k.run.Dir.KeepIdentityToken(token.Token); err != nil {
		return token, fault.New(fault.DiskClass(err), "%w", err)
	}
	return token, nil
}

// Place writes the files, and renews tokens until Close.
func (k *Tokens) Place(ctx context.Context) error {
	var next time.Time
	for n, i := range k.run.Spec.Identities {
		if i.Config != "" {
			config := place(i.Config, i, k.site.Space.Base, k.run.Opts.Pod)
			if err := k.write(configOf(i), config); err != nil {
				return err
			}
		}
		if k.run.Opts.Pod || n >= len(k.first) {
			continue
		}
		if err := k.write(tokenOf(i), k.first[n].Token); err != nil {
			return err
		}
		next = sooner(next, renewal(k.first[n].Expires))
	}
	k.Keep(ctx, next)
	return nil
}

// Keep renews tokens from a time on until Close. It does nothing where there are none, or in a Pod.
func (k *Tokens) Keep(ctx context.Context, next time.Time) {
	if k.run.Opts.Pod || len(k.run.Spec.Identities) == 0 || k.stop != nil {
		return
	}
	ctx, k.stop = context.WithCancel(ctx)
	k.ended.Go(func() { k.renew(ctx, next) })
}

// Close ends the renewal. Files are removed with the run's other secrets.
func (k *Tokens) Close() {
	if k.mounted != nil {
		k.mounted.close()
	}
	if k.stop != nil {
		k.stop()
		k.ended.Wait()
		k.stop = nil
	}
}

// renew writes new tokens until ctx ends. A token that cannot be renewed stays until it expires.
func (k *Tokens) renew(ctx context.Context, next time.Time) {
	for {
		timer := time.NewTimer(max(time.Until(next), time.Second))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		next = time.Time{}
		for _, i := range k.run.Spec.Identities {
			token, err := k.get(ctx, i)
			if err == nil {
				err = k.write(tokenOf(i), token.Token)
			}
			if err != nil && ctx.Err() == nil {
				k.run.Log.Warn("The token for the audience %s cannot be renewed: %s", i.Audience, err)
				token.Expires = time.Now().Add(retryPause)
			}
			next = sooner(next, renewal(token.Expires))
		}
	}
}

// retryPause is the life of a token that could not be renewed, so that the next attempt is soon.
const retryPause = time.Minute

// renewal is when a token that expires then should be renewed: after four fifths of the rest.
func renewal(expires time.Time) time.Time {
	return time.Now().Add(time.Until(expires) / 5 * 4)
}

func sooner(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// write replaces a file at once: the program may be reading it.
func (k *Tokens) write(name, content string) error {
	w := k.site.Space
	if err := w.Root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return fault.New(fault.DiskClass(err), "write a token: %w", err)
	}
	if err := w.Write(name+".new", []byte(content)); err != nil {
		return err
	}
	if err := w.Root.Rename(name+".new", name); err != nil {
		return fault.New(fault.DiskClass(err), "write a token: %w", err)
	}
	return nil
}
