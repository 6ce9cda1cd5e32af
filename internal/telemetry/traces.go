// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Tracer sends spans to an OpenTelemetry collector without waiting. A nil Tracer sends none.
type Tracer struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

// maxSpans is the queue's length, a kilobyte each; further spans are dropped.
const maxSpans = 4096

// OpenTracer creates a tracer configured by the environment (OTEL_EXPORTER_OTLP_ENDPOINT and
// related variables); nil if that names no collector. The collector may be unavailable.
func OpenTracer(ctx context.Context, version string, log *slog.Logger) (*Tracer, error) {
	if !wanted() {
		return nil, nil
	}
	otel.SetErrorHandler(&complaints{log: log})
	exporter, err := newExporter(ctx)
	if err != nil {
		return nil, fmt.Errorf("configure sending traces from OTEL_EXPORTER_OTLP_…: %w", withoutURL(err))
	}
	res, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithHost(),
		resource.WithAttributes(attribute.String("service.name", "yuba"), attribute.String("service.version", version)),
		resource.WithFromEnv()) // the environment takes precedence
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, fmt.Errorf("read OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	var batch []sdktrace.BatchSpanProcessorOption
	if os.Getenv("OTEL_BSP_MAX_QUEUE_SIZE") == "" {
		batch = append(batch, sdktrace.WithMaxQueueSize(maxSpans))
	}
	if os.Getenv("OTEL_BSP_SCHEDULE_DELAY") == "" {
		batch = append(batch, sdktrace.WithBatchTimeout(time.Second))
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter, batch...), sdktrace.WithResource(res), sdktrace.WithIDGenerator(ids{}))
	return &Tracer{provider: provider, tracer: provider.Tracer("github.com/yuba-dev/yuba", trace.WithInstrumentationVersion(version))}, nil
}

// wanted reports whether the environment names a collector of traces.
func wanted() bool {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		return false
	}
	switch os.Getenv("OTEL_TRACES_EXPORTER") {
	case "", "otlp":
	default:
		return false
	}
	return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

func newExporter(ctx context.Context) (*otlptrace.Exporter, error) {
	protocol := os.Getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")
	if protocol == "" {
		protocol = os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL")
	}
	switch protocol {
	case "", "http/protobuf":
		return otlptracehttp.New(ctx)
	case "grpc":
		return otlptracegrpc.New(ctx)
	}
	return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL %q: expected http/protobuf or grpc", protocol)
}

// Close sends queued spans, as far as ctx allows.
func (t *Tracer) Close(ctx context.Context) {
	if t != nil {
		t.provider.Shutdown(ctx) //nolint:errcheck // what the collector does not take is lost, as it is whenever the collector is away
	}
}

// complaints logs some of the errors: a collector that is down fails all the time.
type complaints struct {
	log *slog.Logger

	mu   sync.Mutex
	last time.Time
}

const complainEvery = 10 * time.Minute

// Handle implements otel.ErrorHandler.
func (c *complaints) Handle(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); c.last.IsZero() || now.Sub(c.last) >= complainEvery {
		c.last = now
		c.log.Warn("sending traces failed", "error", withoutURL(err))
	}
}

// withoutURL removes addresses, which may contain passwords.
func withoutURL(err error) error {
	var at *url.Error
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// ids derives the ids of a trace and its root from their subject, by which it can be found.
type ids struct{}

type subjectKey struct{}

// about sets the subject of the trace that is started with the context.
func about(ctx context.Context, subject string) context.Context {
	return context.WithValue(ctx, subjectKey{}, subject)
}

func idsOf(subject string) (t trace.TraceID, s trace.SpanID) {
	sum := sha256.Sum256([]byte(subject))
	copy(t[:], sum[:])
	copy(s[:], sum[len(t):])
	return t, s
}

// NewIDs implements sdktrace.IDGenerator.
func (ids) NewIDs(ctx context.Context) (t trace.TraceID, s trace.SpanID) {
	if subject, ok := ctx.Value(subjectKey{}).(string); ok {
		return idsOf(subject)
	}
	rand.Read(t[:]) //nolint:errcheck // never fails, see its documentation
	rand.Read(s[:]) //nolint:errcheck // never fails, see its documentation
	return t, s
}

// NewSpanID implements sdktrace.IDGenerator.
func (ids) NewSpanID(context.Context, trace.TraceID) (s trace.SpanID) {
	rand.Read(s[:]) //nolint:errcheck // never fails, see its documentation
	return s
}
