// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// Run sends the trace of a completed run: its waiting, its steps, and recording its result. It
// links to the trace of its revision.
func (t *Tracer) Run(rec run.Record, recorded time.Time) {
	if t == nil {
		return
	}
	spec, result := &rec.Spec, rec.Result
	ctx, root := t.tracer.Start(about(context.Background(), "run "+spec.ID), "run", trace.WithTimestamp(rec.Created), trace.WithNewRoot(),
		trace.WithLinks(revisionLink(spec.Artifact.Revision)...), trace.WithAttributes(runAttributes(rec)...))
	if rec.Started != nil {
		t.part(ctx, "queue", rec.Created, *rec.Started, attribute.String("yuba.urgency", urgencyOf(rec)))
	}
	for _, s := range result.Steps {
		if s.Started.IsZero() {
			continue // part of another step
		}
		_, span := t.tracer.Start(ctx, known(s.Step, steps), trace.WithTimestamp(s.Started),
			trace.WithAttributes(attribute.Float64("yuba.cpu_seconds", seconds(time.Duration(s.CPU)))))
		if s.Step == result.FailedStep && result.Outcome != run.OutcomeSucceeded {
			span.SetStatus(codes.Error, known(result.Class, failures))
		}
		span.End(trace.WithTimestamp(s.Started.Add(time.Duration(s.Wall))))
	}
	t.part(ctx, "record", result.Finished, recorded)
	if result.Outcome == run.OutcomeFailed || result.Outcome == run.OutcomeInterrupted {
		root.SetStatus(codes.Error, string(result.Outcome))
	}
	root.End(trace.WithTimestamp(later(recorded, result.Finished)))
}

func (t *Tracer) part(ctx context.Context, name string, from, until time.Time, attributes ...attribute.KeyValue) {
	_, span := t.tracer.Start(ctx, name, trace.WithTimestamp(from), trace.WithAttributes(attributes...))
	span.End(trace.WithTimestamp(later(until, from)))
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// runAttributes exclude a failure's text: it is for people, and can be long.
func runAttributes(rec run.Record) []attribute.KeyValue {
	spec, result := &rec.Spec, rec.Result
	list := []attribute.KeyValue{
		attribute.String("yuba.namespace", spec.Stack.Namespace), attribute.String("yuba.stack", spec.Stack.Name), attribute.String("yuba.run", spec.ID),
		attribute.String("yuba.operation", string(spec.Operation)), attribute.String("yuba.purpose", string(spec.Purpose)),
		attribute.String("yuba.outcome", known(result.Outcome, outcomes)), attribute.String("yuba.revision", spec.Artifact.Revision),
		attribute.Bool("yuba.applied", result.Applied),
	}
	if result.Class != "" {
		list = append(list, attribute.String("yuba.failure", known(result.Class, failures)))
	}
	if result.FailedStep != "" {
		list = append(list, attribute.String("yuba.failed_step", known(result.FailedStep, steps)))
	}
	if result.Init != "" {
		list = append(list, attribute.String("yuba.init", known(result.Init, inits)))
	}
	if p := result.Plan; p != nil {
		list = append(list, attribute.Bool("yuba.plan.changes", p.Changes), attribute.Int("yuba.plan.add", p.Counts.Add),
			attribute.Int("yuba.plan.change", p.Counts.Change), attribute.Int("yuba.plan.destroy", p.Counts.Destroy))
	}
	return list
}

// Look sends the span of a check of a source that found a new revision or failed. A new revision
// starts a trace of its own, to which its users link.
func (t *Tracer) Look(kind, namespace, name, revision, result string, began time.Time, took time.Duration) {
	if t == nil {
		return
	}
	ctx := context.Background()
	if revision != "" {
		ctx = about(ctx, "revision "+revision)
	}
	_, span := t.tracer.Start(ctx, "fetch", trace.WithTimestamp(began), trace.WithNewRoot(), trace.WithAttributes(
		attribute.String("yuba.kind", kind), attribute.String("yuba.namespace", namespace), attribute.String("yuba.name", name),
		attribute.String("yuba.revision", revision), attribute.String("yuba.result", result)))
	if result == "failed" {
		span.SetStatus(codes.Error, result)
	}
	span.End(trace.WithTimestamp(began.Add(took)))
}

// Apply sends the span of an attempt to apply a Kustomization, as part of its revision's trace.
func (t *Tracer) Apply(namespace, name, revision string, succeeded bool, began time.Time, took time.Duration) {
	if t == nil {
		return
	}
	ctx := context.Background()
	if revision != "" {
		ctx = trace.ContextWithRemoteSpanContext(ctx, revisionContext(revision))
	}
	_, span := t.tracer.Start(ctx, "kustomization", trace.WithTimestamp(began), trace.WithAttributes(attribute.String("yuba.kind", "Kustomization"),
		attribute.String("yuba.namespace", namespace), attribute.String("yuba.name", name), attribute.String("yuba.revision", revision)))
	if !succeeded {
		span.SetStatus(codes.Error, "failed")
	}
	span.End(trace.WithTimestamp(began.Add(took)))
}

// revisionContext returns the root of a revision's trace.
func revisionContext(revision string) trace.SpanContext {
	t, s := idsOf("revision " + revision)
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: t, SpanID: s, TraceFlags: trace.FlagsSampled, Remote: true})
}

func revisionLink(revision string) []trace.Link {
	if revision == "" {
		return nil
	}
	return []trace.Link{{SpanContext: revisionContext(revision)}}
}
