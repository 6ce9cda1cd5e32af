// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/offer"
	"github.com/yuba-dev/yuba/internal/registry/release"
)

const (
	// metadataPatience limits one answer of metadata. It is a little less than what tofu waits for
	// ours.
	metadataPatience = 9 * time.Second
	// discoveryTTL is how long the address of an origin's registry counts as current.
	discoveryTTL = time.Hour

	maxDiscovery = 1 << 20
	maxIndex     = 8 << 20
	maxDownload  = 4 << 20
	maxSignature = 1 << 20

	// The largest providers have some hundred versions of 14 platforms. What is accepted stays in memory.
	maxVersions  = 5000
	maxProtocols = 16
	maxPlatforms = 64
)

// origins asks the registries of other hosts.
type origins struct {
	client *http.Client
	token  func(host string) string
	// name is that of this mirror in Via headers.
	name string

	mu       sync.Mutex
	services map[string]service
}

// service is the address of a host's registry of providers.
type service struct {
	base  *url.URL
	found time.Time
}

func newOrigins(o Options, r rules) *origins {
	return &origins{client: o.client(r.named), token: o.Token, services: map[string]service{}, name: "yuba-" + strings.ToLower(rand.Text())}
}

// unexpected is an answer with an unexpected status.
type unexpected struct {
	status int
	text   string
	// wait is what the server asks for before the next attempt.
	wait time.Duration
}

func (e *unexpected) Error() string { return "the answer is " + e.text }

// status returns the HTTP status in an error; 0 if there was no answer.
func status(err error) int {
	var answer *unexpected
	if errors.As(err, &answer) {
		return answer.status
	}
	return 0
}

// request starts a request; the caller closes the body.
func (o *origins) request(ctx context.Context, u *url.URL, header http.Header) (*http.Response, error) {
	if u.Scheme != "https" || u.Host == "" || u.User != nil {
		return nil, errors.New("the address is not an https:// URL without a password")
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, errors.New("the address is not valid")
	}
	for name, values := range header {
		request.Header[name] = values
	}
	via, err := offer.Via(ctx, o.name)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Via", via)
	response, err := o.client.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, explain(err)
	}
	return response, nil
}

// read returns an answer of at most limit bytes, and the URL that gave it.
func (o *origins) read(ctx context.Context, u *url.URL, header http.Header, limit int64) ([]byte, *http.Response, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, metadataPatience, errors.New("no response in time"))
	defer cancel()
	response, err := o.request(ctx, u, header)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	if response.StatusCode != http.StatusOK {
		return nil, nil, refused(response)
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, nil, context.Cause(ctx)
	case err != nil:
		return nil, nil, explain(err)
	case int64(len(data)) > limit:
		return nil, nil, fmt.Errorf("the answer has more than %d KiB", limit>>10)
	}
	return data, response, nil
}

func refused(response *http.Response) error {
	e := &unexpected{status: response.StatusCode, text: response.Status}
	if e.status == http.StatusLoopDetected {
		e.text += ": the addresses that the registry gives lead back to this mirror. Correct its service discovery, or deny it with --registry-mirror-deny"
	}
	if seconds, err := time.ParseDuration(response.Header.Get("Retry-After") + "s"); err == nil {
		e.wait = max(0, seconds)
	}
	return e
}

// ask reads a JSON document, and returns the URL that gave it.
func (o *origins) ask(ctx context.Context, u *url.URL, header http.Header, limit int64, into any) (*url.URL, error) {
	text, response, err := o.read(ctx, u, header, limit)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, into); err != nil {
		kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
		if bytes.HasPrefix(bytes.TrimSpace(text), []byte("<")) {
			kind = "HTML"
		}
		return nil, fmt.Errorf("the answer is %s and not the expected JSON; perhaps a proxy answers in its place", kind)
	}
	return response.Request.URL, nil
}

// registry finds the address of a host's registry of providers. An old address is better than none.
func (o *origins) registry(ctx context.Context, host string) (*url.URL, error) {
	o.mu.Lock()
	known := o.services[host]
	o.mu.Unlock()
	if known.base != nil && time.Since(known.found) < discoveryTTL {
		return known.base, nil
	}
	base, err := o.discover(ctx, host)
	if err != nil {
		if known.base != nil && status(err) != http.StatusNotFound {
			return known.base, nil
		}
		return nil, fmt.Errorf("service discovery: %w", err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.services[host] = service{base, time.Now()}
	return base, nil
}

// errNoRegistry means that a host has no registry of providers.
var errNoRegistry = errors.New("it has no registry of providers")

func (o *origins) discover(ctx context.Context, host string) (*url.URL, error) {
	var services map[string]json.RawMessage
	at, err := o.ask(ctx, &url.URL{Scheme: "https", Host: host, Path: "/.well-known/terraform.json"}, o.authorization(host), maxDiscovery, &services)
	if status(err) == http.StatusNotFound {
		return nil, errNoRegistry
	}
	if err != nil {
		return nil, err
	}
	var text string
	if json.Unmarshal(services["providers.v1"], &text) != nil || text == "" {
		return nil, errNoRegistry
	}
	base, err := at.Parse(text)
	if err != nil || base.Scheme != "https" {
		return nil, errors.New("the address of its registry of providers is not an https:// URL")
	}
	if !strings.HasSuffix(base.Path, "/") {
		base.Path += "/"
	}
	return base, nil
}

func (o *origins) authorization(host string) http.Header {
	header := http.Header{"Accept": {"application/json"}}
	if o.token == nil {
		return header
	}
	if token := o.token(host); token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	return header
}

// versions reads the list of all versions of a provider.
func (o *origins) versions(ctx context.Context, p layout.Provider) (list []offer.Version, warnings []string, err error) {
	base, err := o.registry(ctx, p.Host)
	if err != nil {
		return nil, nil, err
	}
	var listed struct {
		Versions []struct {
			Version   string   `json:"version"`
			Protocols []string `json:"protocols"`
			Platforms []struct {
				OS   string `json:"os"`
				Arch string `json:"arch"`
			} `json:"platforms"`
		} `json:"versions"`
		Warnings []string `json:"warnings"`
	}
	if _, err := o.ask(ctx, base.JoinPath(p.Namespace, p.Name, "versions"), o.authorization(p.Host), maxIndex, &listed); err != nil {
		return nil, nil, err
	}
	if listed.Versions == nil {
		return nil, nil, errors.New(`the answer has no "versions"`)
	}
	if len(listed.Versions) > maxVersions {
		return nil, nil, fmt.Errorf("the answer has %d versions, more than %d", len(listed.Versions), maxVersions)
	}
	for _, entry := range listed.Versions {
		if len(entry.Protocols) > maxProtocols || len(entry.Platforms) > maxPlatforms {
			return nil, nil, fmt.Errorf("the answer has a version with %d protocols and %d platforms, more than %d and %d", len(entry.Protocols), len(entry.Platforms), maxProtocols, maxPlatforms)
		}
		if _, err := layout.ParseVersion(entry.Version); err != nil {
			continue // no tool could install it by that name
		}
		v := offer.Version{Version: entry.Version, Protocols: entry.Protocols}
		for _, platform := range entry.Platforms {
			if parsed, err := layout.ParsePlatform(platform.OS + "_" + platform.Arch); err == nil {
				v.Platforms = append(v.Platforms, parsed)
			}
		}
		list = append(list, v)
	}
	return list, listed.Warnings, nil
}

// answer is what an origin says of the archive of one platform.
type answer struct {
	Protocols []string `json:"protocols"`
	OS        string   `json:"os"`
	Arch      string   `json:"arch"`
	Filename  string   `json:"filename"`
	URL       string   `json:"download_url"`
	Sum       string   `json:"shasum"`
	SumsURL   string   `json:"shasums_url"`
	SigURL    string   `json:"shasums_signature_url"`

	Keys     release.Keys               `json:"signing_keys"`
	Packages map[string]release.Package `json:"packages"`

	// at is the URL of the answer, to which the others are relative.
	at *url.URL
}

// find asks for the archive of a platform.
func (o *origins) find(ctx context.Context, v layout.ProviderVersion, p layout.Platform) (answer, error) {
	base, err := o.registry(ctx, v.Host)
	if err != nil {
		return answer{}, err
	}
	var found answer
	found.at, err = o.ask(ctx, base.JoinPath(v.Namespace, v.Name, v.Version, "download", p.OS, p.Arch), o.authorization(v.Host), maxDownload, &found)
	if err != nil {
		return answer{}, err
	}
	if found.OS != p.OS || found.Arch != p.Arch || found.Filename != v.Archive(p) {
		return answer{}, fmt.Errorf("it offers %q for %s_%s, not %s", found.Filename, found.OS, found.Arch, v.Archive(p))
	}
	return found, nil
}

// signed reads the list of sums and its signature.
func (o *origins) signed(ctx context.Context, found answer) (sums, signature []byte, err error) {
	for _, part := range []struct {
		url   string
		limit int64
		into  *[]byte
	}{{found.SumsURL, release.MaxSums, &sums}, {found.SigURL, maxSignature, &signature}} {
		u, err := found.at.Parse(part.url)
		if err != nil || part.url == "" {
			return nil, nil, errors.New("it does not say where the checksums and their signature are")
		}
		if *part.into, _, err = o.read(ctx, u, nil, part.limit); err != nil {
			return nil, nil, fmt.Errorf("read %s: %w", u.Redacted(), err)
		}
	}
	return sums, signature, nil
}
