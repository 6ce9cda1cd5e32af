// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/web/access"
	"github.com/yuba-dev/yuba/internal/web/site"
	"github.com/yuba-dev/yuba/internal/web/stack/runlog"
)

const (
	// shownLines is how many lines of a log are on a page, shownResources how many resources.
	shownLines, shownResources = 1000, 200
	// gathered is how long lines are gathered before they are sent, and atOnce how many at most.
	gathered = 150 * time.Millisecond
	atOnce   = 200
	// progressPause is the shortest time between two pictures of the progress.
	progressPause = 500 * time.Millisecond
	// alive is how often a stream without news looks whether the person may still read.
	alive = 15 * time.Second
)

// logView is the data of the part "stack-log".
type logView struct {
	*runlog.Window
	Base, Find, Level  string
	Raw, AsText        string
	Earlier, Later, At string
	// Follow is where the rest comes from; empty if there is none.
	Follow string
	// Broken says why the log is not whole.
	Broken string
	Marked int
}

// log adds the log of a run, and the progress of its apply.
func (p pages) log(r *site.Request, key client.ObjectKey, rec run.Record, page *site.Page) error {
	query, id := r.URL.Query(), rec.Spec.ID
	base := address(key, "runs", id)
	v := &logView{Base: base, Find: query.Get("q"), Level: query.Get("level"), Raw: base + "/log.jsonl", AsText: base + "/log.txt"}
	o := runlog.Options{Find: v.Find, Level: v.Level, Most: shownLines}
	if n, err := strconv.Atoi(query.Get("line")); err == nil && n > 0 {
		// The line that a link leads to is shown with those before it.
		v.Marked, o.From = n, max(1, n-shownLines/10)
	} else if n, err := strconv.Atoi(query.Get("from")); err == nil && n > 0 {
		o.From = n
	}
	log, err := r.As.Content.Log(r.Context(), key.Namespace, key.Name, content.LogOptions{Run: id})
	if apierrors.IsNotFound(err) && rec.Result == nil {
		log, err = io.NopCloser(bytes.NewReader(nil)), nil
	}
	if err != nil {
		return instead(page, "stack-log", err)
	}
	defer log.Close() //nolint:errcheck // read only
	window, err := runlog.Read(log, o)
	if err != nil {
		v.Broken = "The log could not be read to its end. Load this page again."
	}
	v.Window = window
	if window.Earlier {
		v.Earlier = with(base, query, "line", "", "from", strconv.Itoa(max(1, window.First()-shownLines))) + "#stack-log"
	}
	if window.Later {
		v.Later = with(base, query, "line", "", "from", strconv.Itoa(window.Last()+1)) + "#stack-log"
	}
	if rec.Result == nil && o.From == 0 && v.Find == "" && v.Level == "" {
		v.Follow = base + "/log?after=" + strconv.Itoa(window.Total)
	}
	add(page, "stack-resources", progressOf(window.Progress))
	add(page, "stack-log", v)
	return nil
}

// progressView is the data of the part "stack-resources".
type progressView struct {
	*runlog.Progress
	Resources []runlog.Resource
	// Hidden counts resources that are not shown.
	Hidden int
}

func progressOf(p *runlog.Progress) progressView {
	shown := p.Shown(shownResources)
	return progressView{p, shown, p.Total() - len(shown)}
}

// followLog sends a log as it grows: lines, and the progress of the apply.
func (p pages) followLog(w http.ResponseWriter, r *site.Request) error {
	key, id := keyOf(r), r.PathValue("run")
	after, err := strconv.Atoi(r.URL.Query().Get("after"))
	if last, e := strconv.Atoi(r.Header.Get("Last-Event-ID")); e == nil {
		after, err = last, nil
	}
	if err != nil || after < 0 {
		return site.BadRequest("The address names no line of the log.", "")
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	log, err := r.As.Content.Log(ctx, key.Namespace, key.Name, content.LogOptions{Run: id, Follow: true})
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // read only
	f := &follower{r: r, key: key, out: r.Events(w), after: after}
	lines := make(chan followed, atOnce)
	go readLog(ctx, runlog.NewReader(log), lines)
	return nothingToSay(f.run(lines))
}

// followed is a line as it was read, or the end of the log.
type followed struct {
	line     runlog.Line
	progress func(*runlog.Progress) bool
	err      error
}

// readLog reads a log until it ends or ctx does.
func readLog(ctx context.Context, log *runlog.Reader, lines chan<- followed) {
	defer close(lines)
	for {
		line, event, err := log.Next()
		one := followed{line: line, progress: func(p *runlog.Progress) bool { return p.Add(event) }, err: err}
		select {
		case lines <- one:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// mayFollow reports whether the person is still logged in, and may still read the logs of a stack. If nobody
// knows, the log goes on.
func mayFollow(r *site.Request, key client.ObjectKey) bool {
	if !r.StillIn() {
		return false
	}
	may, err := r.Can(access.Right{Verb: "get", Group: contentGroup, Resource: "terraforms", Subresource: "log", Namespace: key.Namespace, Name: key.Name})
	return may || err != nil
}

// follower sends a log.
type follower struct {
	r        *site.Request
	key      client.ObjectKey
	out      *site.Events
	after    int
	progress runlog.Progress
	changed  bool
	drawn    time.Time
	pending  []runlog.Line
	last     int
}

// run sends until the log ends or nobody listens.
func (f *follower) run(lines <-chan followed) error {
	send := time.NewTicker(gathered)
	defer send.Stop()
	check := time.NewTicker(alive)
	defer check.Stop()
	for {
		select {
		case <-f.r.Context().Done():
			return f.r.Context().Err()
		case <-check.C:
			if !mayFollow(f.r, f.key) {
				return f.out.Send("leave", "", "")
			}
			if err := f.out.Send("alive", "", ""); err != nil {
				return err
			}
		case <-send.C:
			if err := f.flush(false); err != nil {
				return err
			}
		case one, ok := <-lines:
			if !ok {
				return nil
			}
			if one.err != nil {
				return f.end(one.err)
			}
			if err := f.take(one); err != nil {
				return err
			}
		}
	}
}

func (f *follower) take(one followed) error {
	f.changed = one.progress(&f.progress) || f.changed
	f.last = one.line.Number
	if one.line.Number > f.after && one.line.HTML != "" {
		f.pending = append(f.pending, one.line)
	}
	if len(f.pending) < atOnce {
		return nil
	}
	return f.flush(false)
}

// flush sends the lines that have come, and the progress if it was not sent lately.
func (f *follower) flush(last bool) error {
	if len(f.pending) > 0 {
		html, err := f.r.Draw("stack-lines", f.pending)
		if err != nil {
			return err
		}
		data, err := json.Marshal(html)
		if err != nil {
			return err
		}
		f.pending = f.pending[:0]
		if err := f.out.Send("lines", fmt.Sprint(f.last), string(data)); err != nil {
			return err
		}
	}
	if !f.changed || !last && time.Since(f.drawn) < progressPause {
		return nil
	}
	f.changed, f.drawn = false, time.Now()
	html, err := f.r.Draw("stack-resources", progressOf(&f.progress))
	if err != nil {
		return err
	}
	data, err := json.Marshal([]map[string]string{{"id": "stack-resources", "html": html, "mark": ""}})
	if err != nil {
		return err
	}
	return f.out.Send("parts", "", string(data))
}

// end sends the rest. After an error the browser connects again, and goes on from there.
func (f *follower) end(err error) error {
	if flushed := f.flush(true); flushed != nil || !errors.Is(err, io.EOF) {
		return flushed
	}
	return f.out.Send("end", "", "")
}

// rawLog serves a log as it is stored.
func (p pages) rawLog(w http.ResponseWriter, r *site.Request) error {
	key, id := keyOf(r), r.PathValue("run")
	log, err := r.As.Content.Log(r.Context(), key.Namespace, key.Name, content.LogOptions{Run: id})
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // read only
	download(w, key.Name+"-"+id+".jsonl", "application/x-ndjson")
	if _, err := io.Copy(w, log); err != nil {
		panic(http.ErrAbortHandler) // the browser must notice that it is not whole
	}
	return nil
}

// textLog serves a log as people read it.
func (p pages) textLog(w http.ResponseWriter, r *site.Request) error {
	key, id := keyOf(r), r.PathValue("run")
	log, err := r.As.Content.Log(r.Context(), key.Namespace, key.Name, content.LogOptions{Run: id})
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // read only
	download(w, key.Name+"-"+id+".txt", "text/plain; charset=utf-8")
	if err := runlog.WriteText(w, log); err != nil {
		panic(http.ErrAbortHandler) // the browser must notice that it is not whole
	}
	return nil
}
