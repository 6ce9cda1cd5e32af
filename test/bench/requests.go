// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
)

// newRaw returns a client for paths of the API that are not objects.
func newRaw(kubeconfig string) (rest.Interface, error) {
	config, err := kubetest.Config(kubeconfig)
	if err != nil {
		return nil, err
	}
	config.GroupVersion, config.NegotiatedSerializer = &corev1.SchemeGroupVersion, clientgoscheme.Codecs
	return rest.RESTClientFor(config)
}

// writes counts the requests that change something, by "VERB resource/subresource".
type writes map[string]int

// readWrites reads the number of writes that the API has served.
func readWrites(ctx context.Context, raw rest.Interface) (writes, error) {
	text, err := raw.Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the API's metrics: %w", err)
	}
	return parseWrites(text)
}

var (
	requestLine  = regexp.MustCompile(`(?m)^apiserver_request_total\{([^}]*)\} (\S+)$`)
	requestLabel = regexp.MustCompile(`(\w+)="([^"]*)"`)
)

// writing are the verbs in the API's metrics that change something. APPLY is a PATCH.
var writing = []string{"POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"}

// parseWrites reads the writes from the API's metrics. It excludes queries sent as a POST, such as
// access reviews.
func parseWrites(text []byte) (writes, error) { return parseVerbs(text, writing) }

// parseVerbs counts the requests with some verbs in the API's metrics.
func parseVerbs(text []byte, verbs []string) (writes, error) {
	w := writes{}
	for _, match := range requestLine.FindAllSubmatch(text, -1) {
		labels := map[string]string{}
		for _, l := range requestLabel.FindAllSubmatch(match[1], -1) {
			labels[string(l[1])] = string(l[2])
		}
		verb, resource := labels["verb"], labels["resource"]
		if !slices.Contains(verbs, verb) || strings.HasSuffix(resource, "reviews") {
			continue
		}
		n, err := strconv.ParseFloat(string(bytes.TrimSpace(match[2])), 64)
		if err != nil {
			return nil, fmt.Errorf("read the API's metrics: %w", err)
		}
		if sub := labels["subresource"]; sub != "" {
			resource += "/" + sub
		}
		w[verb+" "+resource] += int(n)
	}
	return w, nil
}

// since is the number of writes after an earlier count.
func (w writes) since(before writes) writes {
	grown := writes{}
	for what, n := range w {
		if n != before[what] {
			grown[what] = n - before[what]
		}
	}
	return grown
}

// without subtracts the benchmark's own writes.
func (w writes) without(what string, n int) writes {
	rest := maps.Clone(w)
	if rest[what] -= n; rest[what] <= 0 {
		delete(rest, what)
	}
	return rest
}

// renewing is the shortest interval at which an API server renews its own Leases.
const renewing = 5 * time.Second

// withoutRenewals subtracts as many updates of Leases as an idle API server makes in that time, and
// no more, because state locks are Leases, too.
func (w writes) withoutRenewals(took time.Duration) writes {
	return w.without("PUT leases", int(took/renewing)+1)
}

// total is the number of all writes.
func (w writes) total() int {
	sum := 0
	for _, n := range w {
		sum += n
	}
	return sum
}

// String lists the writes, sorted.
func (w writes) String() string {
	if len(w) == 0 {
		return "none"
	}
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(w)) {
		parts = append(parts, fmt.Sprintf("%s %d", what, w[what]))
	}
	return strings.Join(parts, ", ")
}
