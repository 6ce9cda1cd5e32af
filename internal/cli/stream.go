// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// logReader reads a run's log as it grows. When the server goes away it takes up where it was.
type logReader struct {
	session *session
	stack   types.NamespacedName
	options content.LogOptions
	// line gets each line with its newline.
	line func([]byte) error

	read int64
}

// run reads to the log's end.
func (r *logReader) run(ctx context.Context) error {
	return r.session.patient(ctx, r.once)
}

func (r *logReader) once(ctx context.Context) error {
	log, err := r.session.content.Log(ctx, r.stack.Namespace, r.stack.Name, r.options)
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // read only
	if _, err := io.CopyN(io.Discard, log, r.read); err != nil && !errors.Is(err, io.EOF) {
		return r.broken(err)
	}
	lines := bufio.NewReader(log)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			if len(line) == 0 {
				return nil
			}
			return r.line(line)
		}
		if err != nil {
			return r.broken(err)
		}
		r.read += int64(len(line))
		if err := r.line(line); err != nil {
			return err
		}
	}
}

// broken says that the connection broke, which is tried again when the log is followed.
func (r *logReader) broken(err error) error {
	if !r.options.Follow {
		return fmt.Errorf("read the log of %s: %w", r.stack, err)
	}
	return apierrors.NewServiceUnavailable(fmt.Sprintf("read the log of %s: %v", r.stack, err))
}

// runView shows a run as it goes on, for a person.
type runView struct {
	w     io.Writer
	color bool
	// hidePlan leaves out what a readable plan tells better.
	hidePlan bool
	// errors counts the errors that were shown.
	errors int
	// said are the diagnostics that were shown; tofu repeats some of them.
	said map[string]bool
}

func (v *runView) line(line []byte) error {
	event := plan.ParseEvent(line)
	switch event.Type {
	case plan.PlannedChange, plan.ResourceDrift, plan.ChangeSummary:
		if v.hidePlan {
			return nil
		}
	case plan.Version:
		return nil
	case plan.Outputs:
		return nil // the command that waits shows them
	case plan.Diagnostic:
		if event.Diagnostic != nil && event.Diagnostic.Severity == diagnostic.Error {
			v.errors++
		}
	}
	if event.Type == plan.Note && event.Level == "info" && !strings.HasPrefix(event.Message, "- ") {
		return nil // init talks a lot; what it fetches is news
	}
	text := event.Render(v.color)
	if text == "" || event.Type == plan.Diagnostic && v.said[text] {
		return nil
	}
	if event.Type == plan.Diagnostic {
		if v.said == nil {
			v.said = map[string]bool{}
		}
		v.said[text] = true
	}
	_, err := fmt.Fprintln(v.w, text)
	return err
}
