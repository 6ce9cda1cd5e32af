// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"bytes"
	"context"
	"encoding/hex"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/testkit/tracetest"
)

// opened is a tracer that the environment wants.
func opened(t *testing.T) *Tracer {
	t.Helper()
	tracer, err := OpenTracer(t.Context(), "v1", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if tracer == nil {
		t.Fatal("there is no tracer")
	}
	return tracer
}

func TestARunIsATrace(t *testing.T) {
	for name, start := range map[string]func(*testing.T) *tracetest.Collector{"HTTP": tracetest.OverHTTP, "gRPC": tracetest.OverGRPC} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test")
			c := start(t)
			tracer := opened(t)
			rec := ended(func(r *run.Record) {
				r.Spec.Variables = map[string]run.Variable{"password": {Value: []byte(`"s3cret"`), Secret: true}}
				r.Token, r.Result.Error = "t0ken", "s3cret"
			})
			tracer.Run(rec, rec.Result.Finished.Add(50*time.Millisecond))
			tracer.Close(t.Context())
			spans := c.Spans()
			var names []string
			for _, s := range spans {
				names = append(names, s.Name)
			}
			if diff := cmp.Diff([]string{"run", "queue", "prepare", "init", "prepare", "plan", "apply", "record"}, names); diff != "" {
				t.Fatalf("spans (-want +got):\n%s", diff)
			}
			root := spans[0]
			id, _ := idsOf("run r1")
			for _, s := range spans {
				if hex.EncodeToString(s.TraceId) != id.String() || s != root && !bytes.Equal(s.ParentSpanId, root.SpanId) {
					t.Errorf("%s is not part of the run's trace", s.Name)
				}
				if strings.Contains(s.String(), "s3cret") || strings.Contains(s.String(), "t0ken") {
					t.Errorf("%s tells a secret", s.Name)
				}
			}
			if took := time.Duration(root.EndTimeUnixNano - root.StartTimeUnixNano); took != 5050*time.Millisecond {
				t.Errorf("the run took %s", took)
			}
			if took := time.Duration(spans[1].EndTimeUnixNano - spans[1].StartTimeUnixNano); took != time.Second {
				t.Errorf("it waited %s", took)
			}
			about := tracetest.Attributes(root.Attributes)
			for key, want := range map[string]string{"yuba.namespace": "team", "yuba.stack": "vpc", "yuba.run": "r1", "yuba.operation": "plan-and-apply",
				"yuba.outcome": "succeeded", "yuba.revision": "main@sha1:1", "yuba.purpose": "drift", "yuba.plan.add": "1", "yuba.init": "replayed"} {
				if about[key] != want {
					t.Errorf("%s is %q, want %q", key, about[key], want)
				}
			}
			if len(root.Links) != 1 || root.Status.GetCode() != tracev1.Status_STATUS_CODE_UNSET {
				t.Errorf("the run: %d links, %s", len(root.Links), root.Status)
			}
			if from := c.Resource(); from["service.name"] != "yuba" || from["service.version"] != "v1" || from["deployment.environment"] != "test" {
				t.Errorf("it comes from %v", from)
			}
		})
	}
}

func TestAFailureIsSeenInItsTrace(t *testing.T) {
	c := tracetest.OverHTTP(t)
	tracer := opened(t)
	rec := ended(func(r *run.Record) {
		r.Result.Outcome, r.Result.FailedStep, r.Result.Class = run.OutcomeFailed, run.StepPlan, run.FailureLocked
	})
	tracer.Run(rec, rec.Result.Finished)
	tracer.Close(t.Context())
	for _, s := range c.Spans() {
		failed := s.Status.GetCode() == tracev1.Status_STATUS_CODE_ERROR
		if want := s.Name == "run" || s.Name == "plan"; failed != want {
			t.Errorf("%s failed: %v", s.Name, failed)
		}
	}
}

// What was fetched, what was applied of it and the runs that it led to are found from each other.
func TestARevisionHasATrace(t *testing.T) {
	c := tracetest.OverHTTP(t)
	tracer := opened(t)
	now := time.Now()
	tracer.Look("GitRepository", "team", "infra", "main@sha1:1", "new", now, time.Second)
	tracer.Apply("team", "apps", "main@sha1:1", true, now.Add(time.Second), time.Second)
	tracer.Run(ended(func(r *run.Record) { r.Created = now.Add(2 * time.Second) }), now)
	tracer.Close(t.Context())
	spans := c.Spans()
	byName := map[string]*tracev1.Span{}
	for _, s := range spans {
		byName[s.Name] = s
	}
	fetch, apply, root := byName["fetch"], byName["kustomization"], byName["run"]
	if fetch == nil || apply == nil || root == nil {
		t.Fatalf("%d spans", len(spans))
	}
	if !bytes.Equal(apply.TraceId, fetch.TraceId) || !bytes.Equal(apply.ParentSpanId, fetch.SpanId) {
		t.Error("the Kustomization is not part of the trace that began with the fetch")
	}
	if len(root.Links) != 1 || !bytes.Equal(root.Links[0].TraceId, fetch.TraceId) || !bytes.Equal(root.Links[0].SpanId, fetch.SpanId) {
		t.Errorf("the run is linked to %v", root.Links)
	}
}

func TestTheEnvironmentSaysWhetherTracesAreSent(t *testing.T) {
	for sentence, c := range map[string]struct {
		env  map[string]string
		want bool
		err  string
	}{
		"nothing is said":            {nil, false, ""},
		"an endpoint":                {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, true, ""},
		"an endpoint for traces":     {map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1/x"}, true, ""},
		"another exporter":           {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none"}, false, ""},
		"all of it is switched off":  {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"}, false, ""},
		"a protocol that is unknown": {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL": "smtp"}, false, "expected http/protobuf or grpc"},
	} {
		t.Run(sentence, func(t *testing.T) {
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			tracer, err := OpenTracer(t.Context(), "v1", slog.New(slog.DiscardHandler))
			if (tracer != nil) != c.want || (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("a tracer: %v, %v", tracer != nil, err)
			}
		})
	}
}

func TestSamplingIsTheEnvironments(t *testing.T) {
	c := tracetest.OverHTTP(t)
	t.Setenv("OTEL_TRACES_SAMPLER", "always_off")
	tracer := opened(t)
	tracer.Run(ended(nil), began)
	tracer.Close(t.Context())
	if n := len(c.Spans()); n != 0 {
		t.Errorf("%d spans were sent", n)
	}
}

// A collector that is away, or that takes connections and never answers, holds nobody up and is
// told of once.
func TestACollectorThatIsAwayCostsNothing(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://user:pa55word@"+silent.Addr().String())
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "100")
	var log bytes.Buffer
	tracer, err := OpenTracer(t.Context(), "v1", slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	for range 5000 { // many more spans than there are places
		tracer.Run(ended(nil), began)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // nobody waits at the end, either
	tracer.Close(ctx)
	c := &complaints{log: slog.New(slog.NewTextHandler(&log, nil))}
	for range 10 {
		c.Handle(io.ErrUnexpectedEOF)
	}
	if n := strings.Count(log.String(), io.ErrUnexpectedEOF.Error()); n != 1 {
		t.Errorf("complained %d times:\n%s", n, &log)
	}
	if strings.Contains(log.String(), "pa55word") {
		t.Errorf("the log tells a password:\n%s", &log)
	}
	var none *Tracer
	none.Run(ended(nil), began)
	none.Look("GitRepository", "a", "b", "", "failed", began, 0)
	none.Apply("a", "b", "", true, began, 0)
	none.Close(t.Context())
}

func BenchmarkTraceRun(b *testing.B) {
	b.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	tracer, err := OpenTracer(b.Context(), "v1", slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	rec := ended(nil)
	b.ReportAllocs()
	for b.Loop() {
		tracer.Run(rec, rec.Result.Finished)
	}
}
