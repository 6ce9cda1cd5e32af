// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// web serves pages with a handler.
func web(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

func says(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) }
}

func httpSpec(spec tenantv1.HTTPSource) tenantv1.DataSource {
	return tenantv1.DataSource{Type: tenantv1.SourceHTTP, HTTP: &spec}
}

func TestRowsOfADocument(t *testing.T) {
	const body = `{"meta": {"rows": [1, {"x": [[]]}]}, "data": {"tenants": [
		{"id": "acme", "active": true, "n": 1.50, "big": 9007199254740993, "tags": ["a", {"b": null}], "none": null, "more": 1},
		{"id": "ü", "active": false, "big": 1e3, "tags": {}}
	]}, "rest": []}`
	source := mustOpen(t, httpSpec(tenantv1.HTTPSource{URL: web(t, says(body)), Rows: ".data.tenants"}), things{}, Options{})
	got := mustRead(t, source, Query{Columns: []string{"id", "active", "n", "big", "tags", "none"}})
	want := []map[string]string{
		{"id": "acme", "active": "true", "n": "1.50", "big": "9007199254740993", "tags": `["a",{"b":null}]`, "none": null},
		{"id": "ü", "active": "false", "n": null, "big": "1e3", "tags": "{}", "none": null},
	}
	if diff := cmp.Diff(want, plain(got)); diff != "" {
		t.Error(diff)
	}
	got = mustRead(t, source, Query{Columns: []string{"id"}, Where: []tenantv1.RowCondition{{Column: "active", Operator: in, Values: []string{"true"}}, {Column: "n", Operator: exists}}})
	if diff := cmp.Diff([]map[string]string{{"id": "acme"}}, plain(got)); diff != "" {
		t.Error(diff)
	}
	if source.Changes(t.Context()) != nil {
		t.Error("a web server cannot tell of changes")
	}
}

func TestWhatIsNoListOfRows(t *testing.T) {
	for sentence, test := range map[string]struct {
		body  string
		rows  string
		class Class
		want  string
	}{
		"no JSON":                        {"<html>" + secretWord, "", Invalid, "invalid JSON at byte"},
		"nothing":                        {"", "", Unreachable, "the document is incomplete"},
		"half of it":                     {`[{"id": "a"}, {"id":`, "", Unreachable, "the document is incomplete"},
		"half of a list":                 {`[{"id": "a"},`, "", Unreachable, "the document is incomplete"},
		"more than one document":         {`[] []`, "", Invalid, "after the JSON document"},
		"more than a document":           {`[] x`, "", Invalid, "invalid JSON"},
		"an object":                      {`{"id": "a"}`, "", Invalid, "the document is not a list"},
		"null instead of a list":         {`{"rows": null}`, "rows", Invalid, ".rows is not a list"},
		"not at that place":              {`{"data": {"tenant": []}}`, ".data.tenants", NotFound, "does not have .data.tenants"},
		"a text on the way":              {`{"data": "x"}`, ".data.tenants", NotFound, "does not have .data.tenants"},
		"a list on the way":              {`{"data": []}`, ".data.tenants", Invalid, "there is a list in the path"},
		"twice":                          {`{"rows": [], "rows": []}`, "rows", Invalid, "twice"},
		"a row that is no object":        {`[{"id": "a"}, "` + secretWord + `"]`, "", Invalid, "row 2 is not an object"},
		"a row that is null":             {`[null]`, "", Invalid, "row 1 is null"},
		"a field that no row has":        {`[{"uid": "a"}, {"uid": "b"}]`, "", NotFound, `none of the 2 rows has a field "id"`},
		"nested deeper than anybody can": {strings.Repeat("[", 100_000), "rows", Invalid, "list in the path"},
		"a value nested too deep":        {`[{"id": ` + strings.Repeat("[", 100_000), "", Invalid, "invalid JSON"},
	} {
		t.Run(sentence, func(t *testing.T) {
			source := mustOpen(t, httpSpec(tenantv1.HTTPSource{URL: web(t, says(test.body)), Rows: test.rows}), things{}, Options{})
			_, err := source.Read(context.Background(), Query{Columns: []string{"id"}})
			wantError(t, err, test.class, test.want)
			if strings.Contains(err.Error(), secretWord) {
				t.Errorf("%v quotes received data", err)
			}
		})
	}
	empty := mustOpen(t, httpSpec(tenantv1.HTTPSource{URL: web(t, says(" [ ] "))}), things{}, Options{})
	if got := mustRead(t, empty, Query{Columns: []string{"id"}}); len(got.Rows) != 0 {
		t.Errorf("an empty list has %v", plain(got))
	}
}

func TestPages(t *testing.T) {
	pages := func(answers map[string]string, headers map[string]string) string {
		return web(t, func(w http.ResponseWriter, r *http.Request) {
			answer, has := answers[r.URL.RequestURI()]
			if !has {
				http.NotFound(w, r)
				return
			}
			if header := headers[r.URL.RequestURI()]; header != "" {
				w.Header().Set("Link", header)
			}
			fmt.Fprint(w, answer)
		})
	}
	for sentence, test := range map[string]struct {
		answers, headers map[string]string
		spec             tenantv1.HTTPSource
		want             []string
		class            Class
		problem          string
	}{
		"by a field of the document": {
			answers: map[string]string{
				"/t": `{"next": "/t?page=2", "rows": [{"id": "a"}]}`, "/t?page=2": `{"rows": [{"id": "b"}], "next": "?page=3"}`,
				"/t?page=3": `{"rows": [{"id": "c"}], "next": null}`,
			},
			spec: tenantv1.HTTPSource{Rows: "rows", Next: ".next"}, want: []string{"a", "b", "c"},
		},
		"by an empty field": {
			answers: map[string]string{"/t": `{"next": "", "rows": [{"id": "a"}]}`},
			spec:    tenantv1.HTTPSource{Rows: "rows", Next: "next"}, want: []string{"a"},
		},
		"by a header": {
			answers: map[string]string{"/t": `[{"id": "a"}]`, "/t?page=2": `[{"id": "b"}]`},
			headers: map[string]string{"/t": `</t?page=1>; rel="first", </t?page=2>; title="x"; rel="last next"`, "/t?page=2": `</t>; rel="first prev"`},
			want:    []string{"a", "b"},
		},
		"in a circle": {
			answers: map[string]string{"/t": `{"next": "/t?page=2", "rows": []}`, "/t?page=2": `{"next": "/t", "rows": []}`},
			spec:    tenantv1.HTTPSource{Rows: "rows", Next: "next"}, class: Invalid, problem: "cycle",
		},
		"on another server": {
			answers: map[string]string{"/t": `{"next": "https://elsewhere.example/t", "rows": []}`},
			spec:    tenantv1.HTTPSource{Rows: "rows", Next: "next"}, class: Invalid, problem: "another server",
		},
		"that are not there": {
			answers: map[string]string{"/t": `{"next": "/gone", "rows": [{"id": "a"}]}`},
			spec:    tenantv1.HTTPSource{Rows: "rows", Next: "next"}, class: NotFound, problem: "404",
		},
		"of which the last has no such field": {
			answers: map[string]string{"/t": `{"next": "/t?page=2", "rows": [{"id": "a"}]}`, "/t?page=2": `{"rows": [{"uid": "b"}]}`},
			spec:    tenantv1.HTTPSource{Rows: "rows", Next: "next"}, want: []string{"a", null},
		},
		"whose address is no text": {
			answers: map[string]string{"/t": `{"next": 2, "rows": []}`},
			spec:    tenantv1.HTTPSource{Rows: "rows", Next: "next"}, class: Invalid, problem: "next page is not a string",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			test.spec.URL = pages(test.answers, test.headers) + "/t"
			got, err := mustOpen(t, httpSpec(test.spec), things{}, Options{}).Read(context.Background(), Query{Columns: []string{"id"}})
			if test.problem != "" {
				wantError(t, err, test.class, test.problem)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, column(got, "id")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatWebServersAnswer(t *testing.T) {
	for status, want := range map[int]Class{
		http.StatusUnauthorized: AccessDenied, http.StatusForbidden: AccessDenied, http.StatusNotFound: NotFound,
		http.StatusInternalServerError: Unreachable, http.StatusServiceUnavailable: Unreachable, http.StatusTooManyRequests: Unreachable,
		http.StatusNoContent: Failed, http.StatusTeapot: Failed,
	} {
		url := web(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		_, err := mustOpen(t, httpSpec(tenantv1.HTTPSource{URL: url}), things{}, Options{}).Read(context.Background(), Query{Columns: []string{"id"}})
		wantError(t, err, want, fmt.Sprint(status))
	}
}

func TestCredentialsAreShownToTheServerAlone(t *testing.T) {
	var elsewhere []string
	other := web(t, func(w http.ResponseWriter, r *http.Request) {
		elsewhere = append(elsewhere, r.Header.Get("Authorization"))
		fmt.Fprint(w, `[{"id": "a"}]`)
	})
	// Another name of the same address is another server.
	other = strings.Replace(other, "127.0.0.1", "localhost", 1)
	var here []string
	url := web(t, func(w http.ResponseWriter, r *http.Request) {
		here = append(here, r.Header.Get("Authorization"))
		http.Redirect(w, r, other, http.StatusFound)
	})
	secrets := things{secrets: map[string]map[string][]byte{
		"token": {"token": []byte(secretWord + "\n")}, "user": {"username": []byte("me"), "password": []byte("p@ss:word")},
	}}
	for _, name := range []string{"token", "user"} {
		mustRead(t, mustOpen(t, httpSpec(tenantv1.HTTPSource{URL: url, SecretName: name}), secrets, Options{}), Query{Columns: []string{"id"}})
	}
	if diff := cmp.Diff([]string{"Bearer " + secretWord, "Basic bWU6cEBzczp3b3Jk"}, here); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"", ""}, elsewhere); diff != "" {
		t.Errorf("sent to another server: %s", diff)
	}
	_, err := Open(context.Background(), httpSpec(tenantv1.HTTPSource{URL: url, SecretName: "gone"}), secrets, Options{})
	wantError(t, err, Invalid, "read Secret gone")
}

// Another port is another server, even for Go's client, and an address is only for its server.
func TestWhatRedirectionsTell(t *testing.T) {
	var told []string
	other := web(t, func(w http.ResponseWriter, r *http.Request) {
		told = append(told, r.Header.Get("Authorization")+r.Header.Get("Referer"))
		fmt.Fprint(w, `[{"id": "a"}]`)
	})
	url := web(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other, http.StatusFound) })
	secrets := things{secrets: map[string]map[string][]byte{"token": {"token": []byte(secretWord)}}}
	mustRead(t, mustOpen(t, httpSpec(tenantv1.HTTPSource{URL: url + "?key=" + secretWord, SecretName: "token"}), secrets, Options{}), Query{Columns: []string{"id"}})
	if diff := cmp.Diff([]string{""}, told); diff != "" {
		t.Errorf("sent to another server: %s", diff)
	}
}

func TestOneServerHasManyNames(t *testing.T) {
	for addresses, want := range map[[2]string]bool{
		{"https://crm.example/a", "https://CRM.example:443/b"}: true, {"http://crm.example/a", "http://crm.example:80/"}: true,
		{"https://crm.example/", "http://crm.example/"}: false, {"https://crm.example/", "https://crm.example:8443/"}: false,
		{"https://crm.example/", "https://a.crm.example/"}: false,
	} {
		a, _ := url.Parse(addresses[0])
		b, _ := url.Parse(addresses[1])
		if got := sameServer(a, b); got != want {
			t.Errorf("%v are one server: %v", addresses, got)
		}
	}
}

// Deleting a row between two pages moves another one to a page that was read already.
func TestRowsThatMoveBetweenPages(t *testing.T) {
	ids := []string{"a", "b", "c", "d", "e", "f"}
	requests := 0
	changing := func() {}
	address := web(t, func(w http.ResponseWriter, r *http.Request) {
		requests++
		from, _ := strconv.Atoi(r.URL.Query().Get("from"))
		rows, next := []map[string]string{}, ""
		for n := from; n < min(from+2, len(ids)); n++ {
			rows = append(rows, map[string]string{"id": ids[n]})
		}
		if from+2 < len(ids) {
			next = fmt.Sprintf("?from=%d", from+2)
		}
		json.NewEncoder(w).Encode(map[string]any{"rows": rows, "next": next})
		if from == 0 {
			changing()
		}
	})
	source := mustOpen(t, httpSpec(tenantv1.HTTPSource{URL: address, Rows: "rows", Next: "next"}), things{}, Options{})
	query := Query{Columns: []string{"id"}}
	got := func() string { return strings.Join(column(mustRead(t, source, query), "id"), "") }
	if rows := got(); rows != "abcdef" {
		t.Errorf("there are %s", rows)
	}
	if requests = 0; got() != "abcdef" || requests != 3 {
		t.Errorf("rows that are those of before took %d requests, want 3", requests)
	}
	changing = func() {
		ids = ids[1:]
		changing = func() {}
	}
	if rows := got(); rows != "bcdef" {
		t.Errorf("without the first there are %s", rows)
	}
	changing = func() { ids = append(ids[1:], ids[0]) }
	_, err := source.Read(context.Background(), query)
	wantError(t, err, Unreachable, "change while its pages are read")
	// A single page that was several is read twice.
	changing, ids, requests = func() {}, []string{"z"}, 0
	if rows := got(); rows != "z" || requests != 2 {
		t.Errorf("there is %s after %d requests, want z after 2", rows, requests)
	}
	if requests = 0; got() != "z" || requests != 1 {
		t.Errorf("one page took %d requests", requests)
	}
}

func TestAuthoritiesOfWebServers(t *testing.T) {
	server := httptest.NewTLSServer(says(`[{"id": "a"}]`))
	t.Cleanup(server.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	secrets := things{secrets: map[string]map[string][]byte{"ca": {"ca.crt": authority}, "none": {"ca.crt": []byte("x")}}}
	mustRead(t, mustOpen(t, httpSpec(tenantv1.HTTPSource{URL: server.URL, SecretName: "ca"}), secrets, Options{}), Query{Columns: []string{"id"}})
	_, err := mustOpen(t, httpSpec(tenantv1.HTTPSource{URL: server.URL}), secrets, Options{}).Read(context.Background(), Query{Columns: []string{"id"}})
	wantError(t, err, Unreachable, "by an untrusted authority")
	_, err = Open(context.Background(), httpSpec(tenantv1.HTTPSource{URL: server.URL, SecretName: "none"}), secrets, Options{})
	wantError(t, err, Invalid, "does not contain a certificate in key ca.crt")
}

func TestWhatIsWrongWithWebSources(t *testing.T) {
	for sentence, test := range map[string]struct {
		spec tenantv1.HTTPSource
		want string
	}{
		"no host":                {tenantv1.HTTPSource{URL: "https:///tenants"}, "name a host"},
		"another scheme":         {tenantv1.HTTPSource{URL: "file:///etc/passwd"}, "http:// or https://"},
		"no URL":                 {tenantv1.HTTPSource{URL: "https://%zz" + secretWord}, "http:// or https://"},
		"a path with brackets":   {tenantv1.HTTPSource{URL: "https://a", Rows: ".data[0]"}, "field names"},
		"a path with a gap":      {tenantv1.HTTPSource{URL: "https://a", Rows: "a..b"}, "field names"},
		"a path without end":     {tenantv1.HTTPSource{URL: "https://a", Next: strings.Repeat("a.", 30) + "a"}, "more than 20 steps"},
		"the next of the rows":   {tenantv1.HTTPSource{URL: "https://a", Rows: "rows", Next: "rows.next"}, "part of the path to the rows"},
		"the next of a list":     {tenantv1.HTTPSource{URL: "https://a", Next: "next"}, "part of the path to the rows"},
		"the next is on the way": {tenantv1.HTTPSource{URL: "https://a", Rows: "data.rows", Next: "data"}, "part of the path to the rows"},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := Open(context.Background(), httpSpec(test.spec), things{}, Options{})
			wantError(t, err, Invalid, test.want)
			if strings.Contains(err.Error(), secretWord) {
				t.Errorf("%v contains a secret", err)
			}
		})
	}
}

func TestHowMuchAWebServerMaySay(t *testing.T) {
	endless := web(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `[{"id": "`)
		line := strings.Repeat("x", 64<<10)
		for r.Context().Err() == nil {
			if _, err := fmt.Fprint(w, line); err != nil {
				return
			}
		}
	})
	query := Query{Columns: []string{"id"}, Limits: Limits{Bytes: 1 << 20}}
	_, err := mustOpen(t, httpSpec(tenantv1.HTTPSource{URL: endless}), things{}, Options{}).Read(context.Background(), query)
	wantError(t, err, TooMuch, "1 MiB")
	number := 0
	pages := web(t, func(w http.ResponseWriter, _ *http.Request) {
		number++
		fmt.Fprintf(w, `{"rows": [{"id": "%s"}], "next": "?%d"}`, strings.Repeat("x", 100<<10), number)
	})
	_, err = mustOpen(t, httpSpec(tenantv1.HTTPSource{URL: pages, Rows: "rows", Next: "next"}), things{}, Options{}).Read(context.Background(), query)
	wantError(t, err, TooMuch, "1 MiB")
	silent := web(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	_, err = mustOpen(t, httpSpec(tenantv1.HTTPSource{URL: silent + "?token=" + secretWord}), things{}, Options{}).
		Read(context.Background(), Query{Columns: []string{"id"}, Limits: Limits{Time: 300 * time.Millisecond}})
	wantError(t, err, TooMuch, "300ms", "?(sensitive)")
}

func TestLinks(t *testing.T) {
	for header, want := range map[string]string{
		`<https://a/2>; rel="next"`: "https://a/2", `<2>;rel=next`: "2", `<1>; rel=prev, <3>; REL="Next"`: "3",
		`<1>; rel="prev next"`: "1", `<1>; rel="nextish"`: "", `<1; rel="next"`: "", `1>; rel="next"`: "", ``: "", `<>; rel=next`: "",
		`<1>; title="rel=next"`: "",
	} {
		if got := linked([]string{header}); got != want {
			t.Errorf("%s leads to %q, want %q", header, got, want)
		}
	}
}
