// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

// refusal is a connection that failed. A pass may come at any time: the forge is not asked again before it is due, unless
// somebody has changed what the connection is made of.
type refusal struct {
	config   string
	err      error
	until    time.Time
	failures int
}

// redial opens a connection, unless an equal one has just failed.
func (r *Reconciler) redial(o *yubav1.PullRequestPlanner, m *memory, s *sourcev1.GitRepository, last refusal, config string, dial func() (*link, error)) (*link, error) {
	asked := o.GetAnnotations()[requestedAt]
	due := last.config != config || !r.now().Before(last.until) || asked != "" && asked != m.handled && !limits(last.err)
	if !due {
		m.refused[sourceName(o, s)] = last
		m.at(last.until)
		return nil, last.err
	}
	l, err := dial()
	if err == nil {
		return l, nil
	}
	if last.config != config {
		last.failures = 0
	}
	last.config, last.err = config, err
	last.until = r.now().Add(pause(&last.failures))
	if end := r.now().Add(usual(o)); refuses(err) && end.After(last.until) {
		last.until = end
	}
	var limit *forge.LimitedError
	if errors.As(err, &limit) {
		last.until = limit.Until
	}
	m.refused[sourceName(o, s)] = last
	m.at(last.until)
	return nil, err
}

// refuses reports whether an error is about credentials: some forges lock accounts that try again and again.
func refuses(err error) bool {
	var token *forge.TokenError
	var scope *forge.ScopeError
	return errors.As(err, &token) || errors.As(err, &scope)
}

// limits reports whether an error says when to come back.
func limits(err error) bool {
	var limit *forge.LimitedError
	return errors.As(err, &limit)
}
