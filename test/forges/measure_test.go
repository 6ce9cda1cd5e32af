// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package forges

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/testkit/proctest"
)

// between is what passes between Yuba and Gitea, with its times.
type between struct {
	mu   sync.Mutex
	seen []passed
}

type passed struct {
	at           time.Time
	method, path string
	body         string
}

// around notes requests, and passes them on.
func (b *between) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		begun := time.Now()
		defer func() { // also if the proxy gives up, because the client has read enough
			p := passed{at: time.Now(), method: r.Method, path: r.URL.Path, body: string(body)}
			if strings.Contains(r.URL.Path, "/hook/") {
				p.at = begun // it has arrived
			}
			b.mu.Lock()
			defer b.mu.Unlock()
			b.seen = append(b.seen, p)
		}()
		next.ServeHTTP(w, r)
	})
}

// take returns what has passed since the last call.
func (b *between) take() []passed {
	b.mu.Lock()
	defer b.mu.Unlock()
	seen := b.seen
	b.seen = nil
	slices.SortFunc(seen, func(a, b passed) int { return a.at.Compare(b.at) })
	return seen
}

// await waits until what has passed since the last take is so.
func (b *between) await(t testing.TB, what string, is func([]passed) bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		b.mu.Lock()
		seen := slices.Clone(b.seen)
		b.mu.Unlock()
		slices.SortFunc(seen, func(a, b passed) int { return a.at.Compare(b.at) })
		if is(seen) {
			return
		}
		if time.Now().After(deadline) {
			for _, p := range seen {
				t.Logf("  %s %s %s %.300q", p.at.Format(time.TimeOnly), p.method, p.path, p.body)
			}
			t.Fatalf("not so after %s: %s", patience, what)
		}
	}
}

// quiet waits until nothing has passed for a while.
func (b *between) quiet(t testing.TB) {
	t.Helper()
	const pause = time.Second
	since := time.Now()
	b.await(t, "nothing passes for "+pause.String(), func(seen []passed) bool {
		if len(seen) > 0 && seen[len(seen)-1].at.After(since) {
			since = seen[len(seen)-1].at
		}
		return time.Since(since) > pause
	})
}

// show logs requests, webhooks, and what the server says, in the order of their times.
func show(t testing.TB, begin time.Time, seen, hooks []passed, y *yuba) {
	t.Helper()
	type line struct {
		at   time.Time
		text string
	}
	var all []line
	for _, p := range seen {
		all = append(all, line{p.at, p.method + " " + p.path})
	}
	for _, p := range hooks {
		all = append(all, line{p.at, "webhook " + p.path[:20]})
	}
	for text := range strings.Lines(y.log.Text()) {
		word, _, _ := strings.Cut(text, " ")
		if at, err := time.Parse("time=2006-01-02T15:04:05.999Z07:00", word); err == nil && at.After(begin) {
			all = append(all, line{at, "log " + strings.TrimSpace(text)})
		}
	}
	slices.SortStableFunc(all, func(a, b line) int { return a.at.Compare(b.at) })
	for _, l := range all {
		t.Logf("  %6.3f s %s", l.at.Sub(begin).Seconds(), l.text)
	}
}

// proxy serves a proxy of an address that notes what passes.
func (b *between) proxy(t testing.TB, to string) string {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(b.around(httputil.NewSingleHostReverseProxy(target)))
	t.Cleanup(s.Close)
	return s.URL
}

// resident is the line of the resident memory.
var resident = regexp.MustCompile(`VmRSS:\s+(\d+) kB`)

// memory is the least resident memory of the server within some seconds.
func (y *yuba) memory(t testing.TB) (least int) {
	t.Helper()
	for range 20 {
		text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(y.cmd.Process.Pid), "status"))
		if err != nil {
			t.Fatal(err)
		}
		kb, err := strconv.Atoi(resident.FindStringSubmatch(string(text))[1])
		if err != nil {
			t.Fatal(err)
		}
		if least == 0 || kb<<10 < least {
			least = kb << 10
		}
		time.Sleep(500 * time.Millisecond)
	}
	return least
}

// ticks are a second in the times of /proc.
const ticks = 100

// usage is time of CPUs, by what took it.
type usage map[string]time.Duration

// sum is all of it.
func (u usage) sum() (all time.Duration) {
	for _, one := range u {
		all += one
	}
	return all
}

// since is what was taken after an earlier usage.
func (u usage) since(before usage) usage {
	out := usage{}
	for name, one := range u {
		if one -= before[name]; one > 0 {
			out[name] = one
		}
	}
	return out
}

// cpu is the time of CPUs that the server, its runners and all their programs that have ended have taken.
func (y *yuba) cpu(t testing.TB) usage {
	t.Helper()
	out := usage{}
	for _, p := range proctest.About(y.dir) {
		text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.PID), "stat"))
		if err != nil {
			continue // it has ended, and its time is its parent's
		}
		// The name in parentheses may have spaces. The 14th to 17th field are its own times and those of its children.
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		for i, field := range fields[11:15] {
			n, err := strconv.ParseInt(field, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			name := p.Program
			if i >= 2 {
				name += "'s programs"
			}
			out[name] += time.Duration(n) * time.Second / ticks
		}
	}
	return out
}
