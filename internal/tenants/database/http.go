// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/kit/outbound"
)

// mostPages limits the pages of rows: each one is a connection.
const mostPages = 1000

// webDocument is a JSON document on a web server, in one page or several.
type webDocument struct {
	first      *url.URL
	rows, next []string
	// token, or user and password, authenticate to the server.
	token, user, password string
	roots                 *x509.CertPool
	certificate           *tls.Certificate

	one sync.Mutex // one reading at a time
	// last is the digest of the previous reading's pages; nil for a single page.
	last []byte
}

func openHTTP(ctx context.Context, spec *tenantv1.HTTPSource, secrets Secrets) (Source, error) {
	doing := "read " + outbound.Show(spec.URL)
	invalid := func(why string) (Source, error) { return nil, &Error{Class: Invalid, Doing: doing, Why: why} }
	first, err := url.Parse(spec.URL)
	if err != nil || first.Host == "" || first.Scheme != "http" && first.Scheme != "https" {
		return invalid("the URL must be http:// or https:// and name a host")
	}
	d := &webDocument{first: first}
	if d.rows, err = parsePath(spec.Rows); err != nil {
		return invalid("spec.source.http.rows: " + err.Error())
	}
	if spec.Next != "" {
		if d.next, err = parsePath(spec.Next); err != nil {
			return invalid("spec.source.http.next: " + err.Error())
		}
		if leads(d.rows, d.next) || leads(d.next, d.rows) {
			return invalid("spec.source.http.next is part of the path to the rows, or below it")
		}
	}
	if spec.SecretName != "" {
		if err := d.credentials(ctx, doing, spec.SecretName, secrets); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// credentials reads the credentials in a Secret.
func (d *webDocument) credentials(ctx context.Context, doing, name string, secrets Secrets) error {
	data, err := secret(ctx, doing, secrets, name)
	if err != nil {
		return err
	}
	d.token = strings.TrimSpace(string(data["token"]))
	d.user, d.password = string(data["username"]), string(data["password"])
	if authority := data["ca.crt"]; len(authority) > 0 {
		if d.roots, err = x509.SystemCertPool(); err != nil {
			d.roots = x509.NewCertPool()
		}
		if !d.roots.AppendCertsFromPEM(authority) {
			return &Error{Class: Invalid, Doing: doing, Why: "it does not contain a certificate in key ca.crt of Secret " + name}
		}
	}
	if len(data["tls.crt"])+len(data["tls.key"]) > 0 {
		if d.certificate, err = keyPair(ctx, doing, secrets, name); err != nil {
			return err
		}
	}
	return nil
}

func (*webDocument) Changes(context.Context) <-chan struct{} { return nil }

func (*webDocument) Close() error { return nil }

func (d *webDocument) Read(ctx context.Context, q Query) (*Reading, error) {
	doing := "read " + outbound.Show(d.first.String())
	q, err := q.checked(doing)
	if err != nil {
		return nil, err
	}
	d.one.Lock()
	defer d.one.Unlock()
	own, cancel := context.WithTimeout(ctx, q.Limits.Time)
	defer cancel()
	reading, err := d.agreed(own, q)
	if err != nil {
		return nil, finish(ctx, own, err, doing, q.Limits, unreachable)
	}
	return reading, nil
}

// mostTries limits retries while the pages change.
const mostTries = 4

// agreed reads all pages. Each shows another moment: if a row is deleted between two of them,
// another row moves to a page that was read already, and is missed. So rows of several pages count
// only if a second reading returns the same, which costs nothing while nothing changes.
func (d *webDocument) agreed(ctx context.Context, q Query) (*Reading, error) {
	for range mostTries {
		reading, pages, err := d.read(ctx, q)
		if err != nil {
			return nil, err
		}
		if pages == 1 && d.last == nil {
			return reading, nil
		}
		before := d.last
		if d.last = sumOf(q, reading); bytes.Equal(before, d.last) {
			if pages == 1 {
				d.last = nil
			}
			return reading, nil
		}
	}
	return nil, &Error{Class: Unreachable, Why: "its rows change while its pages are read", Then: "Use larger pages"}
}

// sumOf returns a digest of all rows of a reading.
func sumOf(q Query, reading *Reading) []byte {
	all := sha256.New()
	for _, row := range reading.Rows {
		for _, column := range q.Columns {
			part(all, []byte(column))
			if value := row[column]; value != nil {
				part(all, []byte(*value))
			} else {
				part(all, nil)
				part(all, nil)
			}
		}
	}
	return all.Sum(nil)
}

// client returns a client that sends credentials only to the configured server. Go also sends them
// to other ports and to subdomains, and sends the referring address with its query.
func (d *webDocument) client(limits Limits) *http.Client {
	client := outbound.Client(outbound.Options{Timeout: limits.Time + connectTimeout, Redirects: 3, Roots: d.roots, Certificate: d.certificate})
	follow := client.CheckRedirect
	client.CheckRedirect = func(next *http.Request, before []*http.Request) error {
		next.Header.Del("Referer")
		if !sameServer(next.URL, d.first) {
			next.Header.Del("Authorization")
		}
		return follow(next, before)
	}
	return client
}

// sameServer reports whether two addresses are on one server.
func sameServer(a, b *url.URL) bool {
	return strings.EqualFold(a.Scheme, b.Scheme) && strings.EqualFold(a.Hostname(), b.Hostname()) && portOf(a) == portOf(b)
}

func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case strings.EqualFold(u.Scheme, "https"):
		return "443"
	}
	return "80"
}

// read reads all pages, and returns their number.
func (d *webDocument) read(ctx context.Context, q Query) (_ *Reading, pages int, _ error) {
	client := d.client(q.Limits)
	p := newPicker(q, ctx.Err)
	left := q.Limits.Bytes
	seen := map[string]bool{}
	for page := d.first; page != nil; {
		if seen[page.String()] {
			return nil, 0, &Error{Class: Invalid, Why: "its pages form a cycle"}
		}
		if seen[page.String()] = true; len(seen) > mostPages {
			return nil, 0, &Error{Class: TooMuch, Why: fmt.Sprintf("there are more than %d pages", mostPages), Then: "Use larger pages"}
		}
		next, err := d.page(ctx, client, page, p, &left)
		if errors.Is(err, errSpent) {
			return nil, 0, tooManyBytes(q.Limits)
		}
		if err != nil {
			return nil, 0, err
		}
		page = next
	}
	reading, err := p.reading()
	return reading, len(seen), err
}

// page reads one page and returns the address of the next one; nil after the last.
func (d *webDocument) page(ctx context.Context, client *http.Client, address *url.URL, p *picker, left *int64) (*url.URL, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return nil, &Error{Class: Invalid, Why: "the address of a page is invalid"}
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "yuba")
	switch {
	case d.token != "":
		request.Header.Set("Authorization", "Bearer "+d.token)
	case d.user != "" || d.password != "":
		request.SetBasicAuth(d.user, d.password)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close() //nolint:errcheck // only read
	if err := answered(response.StatusCode); err != nil {
		return nil, err
	}
	told := &jsonDocument{rows: d.rows, next: d.next, take: p.takeJSON}
	if err := told.read(&bounded{response.Body, left}); err != nil {
		return nil, err
	}
	if told.address == "" {
		told.address = linked(response.Header.Values("Link"))
	}
	if told.address == "" {
		return nil, nil
	}
	// The page may come from a redirect; the next one must be on the configured server, which alone
	// gets the credentials.
	next, err := address.Parse(told.address)
	if err != nil || !sameServer(next, d.first) {
		wrong := &Error{Class: Invalid, Why: "the next page is on another server"}
		if err == nil && next.Scheme == "http" && d.first.Scheme == "https" {
			wrong.Then = "Its address is http://; an application behind a proxy must know that its address is https://"
		}
		return nil, wrong
	}
	next.User, next.Fragment = d.first.User, ""
	return next, nil
}

// answered returns the error for a status.
func answered(status int) error {
	why := fmt.Sprintf("the server responded %d %s", status, http.StatusText(status))
	switch {
	case status == http.StatusOK:
		return nil
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return &Error{Class: AccessDenied, Why: why, Then: "spec.source.http.secretName names the Secret with a token, or with username and password"}
	case status == http.StatusNotFound || status == http.StatusGone:
		return &Error{Class: NotFound, Why: why}
	case status >= http.StatusInternalServerError || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout:
		return &Error{Class: Unreachable, Why: why}
	}
	return &Error{Class: Failed, Why: why}
}

// linked returns the address of the next page in headers such as
//
//	Link: <https://crm.example/tenants?page=2>; rel="next", <https://crm.example/tenants?page=9>; rel="last"
func linked(headers []string) string {
	for _, header := range headers {
		for rest := header; ; {
			_, after, open := strings.Cut(rest, "<")
			address, parameters, closed := strings.Cut(after, ">")
			if !open || !closed {
				break
			}
			rest = parameters
			// The parameters end where the next address begins.
			if end := strings.Index(parameters, "<"); end >= 0 {
				parameters = parameters[:end]
			}
			for parameter := range strings.SplitSeq(parameters, ";") {
				name, value, _ := strings.Cut(parameter, "=")
				if !strings.EqualFold(strings.TrimSpace(name), "rel") {
					continue
				}
				for _, relation := range strings.Fields(strings.Trim(value, "\" ,\t")) {
					if strings.EqualFold(relation, "next") {
						return strings.TrimSpace(address)
					}
				}
			}
		}
	}
	return ""
}

// bounded limits the bytes of a reading over all its pages.
type bounded struct {
	from io.Reader
	left *int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if *b.left < 0 {
		return 0, errSpent
	}
	// One byte more than allowed shows that there is more.
	if int64(len(p)) > *b.left+1 {
		p = p[:*b.left+1]
	}
	n, err := b.from.Read(p)
	if *b.left -= int64(n); *b.left < 0 {
		return n, errSpent
	}
	return n, err
}
