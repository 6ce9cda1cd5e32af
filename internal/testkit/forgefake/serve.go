// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package forgefake

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/testkit/forgetest"
)

type object = map[string]any

// raw is content that is not JSON.
type raw string

// request is a request about the repository.
type request struct {
	*http.Request
	// path follows the repository's.
	path string
	in   object
	out  http.Header
	args []string
}

// is reports whether the request has a method and a path, in which * matches a part.
func (r *request) is(method, pattern string) bool {
	expression := "^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, `([^/]+)`) + "$"
	match := regexp.MustCompile(expression).FindStringSubmatch(r.path)
	if match == nil || r.Method != method {
		return false
	}
	r.args = match[1:]
	return true
}

// number is an argument of the path.
func (r *request) number(i int) int {
	n, _ := strconv.Atoi(r.args[i]) //nolint:errcheck // 0 is not found
	return n
}

func (r *request) text(name string) string {
	s, _ := r.in[name].(string) //nolint:errcheck // empty if it is something else
	return s
}

// address is the repository's path at the forge, and api the base URL of the API.
func (w *World) address() string {
	switch w.kind {
	case forge.BitbucketServer:
		return "projects/" + strings.Replace(w.name, "/", "/repos/", 1)
	case forge.AzureDevOps:
		return strings.Replace(w.name, "/", "/_git/", 1)
	}
	return w.name
}

func (w *World) api() string {
	switch w.kind {
	case forge.GitHub:
		return w.URL + "/api/v3"
	case forge.GitLab:
		return w.URL + "/api/v4"
	case forge.Bitbucket:
		return w.URL + "/2.0"
	}
	return w.URL
}

// ServeHTTP serves the API.
func (w *World) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	w.lock.Lock()
	fault := w.fault
	w.sent = append(w.sent, r.Method+" "+r.URL.Path)
	w.lock.Unlock()
	if fault != nil {
		fault(out, r)
		return
	}
	w.lock.Lock()
	defer w.lock.Unlock()
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if _, password, ok := r.BasicAuth(); ok {
		token = password
	}
	switch token {
	case tokens[forgetest.Full], appToken:
	case tokens[forgetest.ReadOnly]:
		if r.Method != http.MethodGet {
			w.deny(out, true)
			return
		}
	default:
		if !w.appRequest(out, r) {
			w.deny(out, false)
		}
		return
	}
	body, _ := io.ReadAll(r.Body) //nolint:errcheck // an empty body fails the route
	asked := &request{Request: r, path: r.URL.EscapedPath(), out: out.Header()}
	json.Unmarshal(body, &asked.in) //nolint:errcheck // not all requests have a body
	if to := w.moved(asked.path); to != "" {
		// The whole query stays.
		to += "?" + r.URL.RawQuery
		out.Header().Set("Location", to)
		out.WriteHeader(http.StatusMovedPermanently)
		return
	}
	w.answer(out, asked)
}

func (w *World) answer(out http.ResponseWriter, r *request) {
	code, content := w.route(w, r)
	if code == 0 {
		w.t.Errorf("the API of %s has no %s %s", w.kind, r.Method, r.path)
		code = http.StatusNotImplemented
	}
	switch v := content.(type) {
	case raw:
		out.WriteHeader(code)
		io.WriteString(out, string(v)) //nolint:errcheck // the client notices
	case nil:
		out.WriteHeader(code)
	default:
		out.Header().Set("Content-Type", "application/json")
		out.WriteHeader(code)
		json.NewEncoder(out).Encode(v) //nolint:errcheck // the client notices
	}
}

// moved is where a path with an old name of the repository leads.
func (w *World) moved(path string) string {
	if w.kind == forge.AzureDevOps {
		return ""
	}
	for _, old := range w.before {
		was, is := w.inPath(old), w.inPath(w.name)
		if strings.Contains(path+"/", was+"/") {
			return strings.TrimSuffix(strings.Replace(path+"/", was+"/", is+"/", 1), "/")
		}
	}
	return ""
}

// inPath is the repository's name as it is in paths of the API.
func (w *World) inPath(name string) string {
	switch w.kind {
	case forge.GitLab:
		return "/projects/" + url.PathEscape(name)
	case forge.GitHub:
		return "/repos/" + name
	case forge.Bitbucket:
		return "/repositories/" + name
	case forge.BitbucketServer:
		return "/projects/" + strings.Replace(name, "/", "/repos/", 1)
	}
	return "/" + name
}

// notFound is a usual answer.
func notFound() (int, any) { return http.StatusNotFound, object{"message": "Not Found"} }

func page[T any](list []T, number, most int) (part []T, more bool) {
	begin := min(max(number-1, 0)*most, len(list))
	end := min(begin+most, len(list))
	return list[begin:end], end < len(list)
}

// linked is a page of a list, with the next one in the header Link.
func linked[T, U any](w *World, r *request, list []T, most int, show func(T) U) (int, any) {
	number, _ := strconv.Atoi(r.URL.Query().Get("page")) //nolint:errcheck // the first one
	part, more := page(list, max(number, 1), most)
	if more {
		query := r.URL.Query()
		query.Set("page", strconv.Itoa(max(number, 1)+1))
		r.out.Set("Link", "<"+w.URL+r.URL.EscapedPath()+"?"+query.Encode()+`>; rel="next", <`+w.URL+`/last>; rel="last"`)
	}
	return http.StatusOK, shown(part, show)
}

func shown[T, U any](list []T, show func(T) U) []U {
	out := []U{}
	for _, item := range list {
		out = append(out, show(item))
	}
	return out
}

// sinceTime is a time in the query.
func sinceTime(r *request, name string) time.Time {
	at, _ := time.Parse(time.RFC3339, r.URL.Query().Get(name)) //nolint:errcheck // the zero time
	return at
}
