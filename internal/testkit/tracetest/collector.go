// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tracetest

import (
	"cmp"
	"compress/gzip"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	collectorv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// Collector stores spans.
type Collector struct {
	collectorv1.UnimplementedTraceServiceServer

	mu       sync.Mutex
	spans    []*tracev1.Span
	resource map[string]string
}

// OverHTTP starts a collector for OTLP over HTTP, which the test's environment names.
func OverHTTP(t *testing.T) *Collector {
	c := &Collector{}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	return c
}

// OverGRPC is OverHTTP for gRPC.
func OverGRPC(t *testing.T) *Collector {
	c := &Collector{}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	collectorv1.RegisterTraceServiceServer(server, c)
	go server.Serve(listener) //nolint:errcheck // it ends with the test
	t.Cleanup(server.Stop)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+listener.Addr().String())
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
	return c
}

// Export receives spans over gRPC.
func (c *Collector) Export(_ context.Context, r *collectorv1.ExportTraceServiceRequest) (*collectorv1.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, rs := range r.ResourceSpans {
		c.resource = Attributes(rs.Resource.Attributes)
		for _, s := range rs.ScopeSpans {
			c.spans = append(c.spans, s.Spans...)
		}
	}
	return &collectorv1.ExportTraceServiceResponse{}, nil
}

// ServeHTTP receives spans over HTTP.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	request, err := read(r)
	if err != nil || r.URL.Path != "/v1/traces" {
		http.Error(w, "no traces", http.StatusBadRequest)
		return
	}
	answer, _ := c.Export(r.Context(), request) //nolint:errcheck // it never fails
	data, err := proto.Marshal(answer)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	w.Write(data) //nolint:errcheck // the sender is gone
}

func read(r *http.Request) (*collectorv1.ExportTraceServiceRequest, error) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, err
		}
		body = unpacked
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	var request collectorv1.ExportTraceServiceRequest
	return &request, proto.Unmarshal(data, &request)
}

// Spans are the received spans in the order of their start, each after its parent.
func (c *Collector) Spans() []*tracev1.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	spans := slices.Clone(c.spans)
	slices.SortStableFunc(spans, func(a, b *tracev1.Span) int {
		return cmp.Or(cmp.Compare(a.StartTimeUnixNano, b.StartTimeUnixNano), cmp.Compare(len(a.ParentSpanId), len(b.ParentSpanId)))
	})
	return spans
}

// Resource has the attributes of the origin of the last spans.
func (c *Collector) Resource() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.resource
}

// Attributes are attributes as text.
func Attributes(list []*commonv1.KeyValue) map[string]string {
	m := map[string]string{}
	for _, kv := range list {
		switch v := kv.Value.Value.(type) {
		case *commonv1.AnyValue_StringValue:
			m[kv.Key] = v.StringValue
		default:
			m[kv.Key] = strings.Trim(kv.Value.String()[strings.Index(kv.Value.String(), ":")+1:], " ")
		}
	}
	return m
}
