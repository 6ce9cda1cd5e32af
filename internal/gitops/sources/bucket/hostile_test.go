// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/archive"
)

// listing is an answer that a store like S3 gives.
type listing struct {
	XMLName   xml.Name `xml:"ListBucketResult"`
	Truncated bool     `xml:"IsTruncated"`
	Next      string   `xml:"NextContinuationToken,omitempty"`
	Contents  []listed
}

type listed struct {
	Key  string
	ETag string
	Size string `xml:",omitempty"`
}

// hostile is a store that lists what it likes, and answers with the same content for all of it.
func hostile(t *testing.T, list listing, etag, content string) *s3Server {
	t.Helper()
	server := plainS3(t)
	server.breakWith(func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case strings.HasSuffix(r.URL.Path, "/.sourceignore"):
			return false
		case r.URL.Query().Has("list-type"):
			answer, err := xml.Marshal(list)
			if err != nil {
				t.Error(err)
			}
			_, _ = w.Write(answer)
		default:
			w.Header().Set("ETag", etag)
			fmt.Fprint(w, content)
		}
		return true
	})
	return server
}

func one(key string) listing { return listing{Contents: []listed{{key, `"e"`, "1"}}} }

func TestNamesThatAreNoFiles(t *testing.T) {
	for sentence, c := range map[string]struct {
		list    listing
		message string
	}{
		"a name that leaves":           {one("../evil"), `the object "../evil" cannot be a file: the name has parts that are empty, '.' or '..'; rename it, or exclude it with spec.ignore`},
		"one that leaves midway":       {one("a/../../evil"), "parts that are empty"},
		"one that does not leave":      {one("a/../b"), "parts that are empty"},
		"an absolute one":              {one("/etc/passwd"), "begins with a slash"},
		"an empty part":                {one("a//b"), "parts that are empty"},
		"a dot":                        {one("./a"), "parts that are empty"},
		"only dots":                    {one(".."), "parts that are empty"},
		"a backslash":                  {one(`..\evil`), "backslash"},
		"a line break":                 {one("a\nb"), "unprintable"},
		"a long name":                  {one(strings.Repeat("a/", 600) + "b"), "more than 1024 bytes"},
		"a long part":                  {one(strings.Repeat("a", 300)), "a part of it more than 255"},
		"the same twice":               {listing{Contents: []listed{{"a", "e", "1"}, {"a", "f", "1"}}}, "the store lists it twice"},
		"a file and a directory":       {listing{Contents: []listed{{"a", "e", "1"}, {"a-b", "e", "1"}, {"a/b", "e", "1"}}}, `the object "a/b" cannot be a file: there is an object "a", too`},
		"deeper below a file":          {listing{Contents: []listed{{"a/b/c/d", "e", "1"}, {"a", "e", "1"}}}, `there is an object "a", too`},
		"no ETag":                      {listing{Contents: []listed{{"a", "", "1"}}}, "no ETag"},
		"no size":                      {listing{Contents: []listed{{"a", "e", ""}}}, "no size"},
		"a negative size":              {listing{Contents: []listed{{"a", "e", "-5"}}}, "no size"},
		"more than a tree may have":    {listing{Contents: []listed{{"a", "e", "9999999999999"}}}, "the size of all objects in bytes exceeds the limit"},
		"the same page again and over": {listing{Truncated: true, Next: "again"}, "the store's response is invalid"},
		"a list without its end":       {listing{Truncated: true, Contents: []listed{{"a", "e", "1"}}}, "the store's response is invalid"},
	} {
		t.Run(sentence, func(t *testing.T) {
			server := hostile(t, c.list, `"e"`, "x")
			_, err := New().Look(t.Context(), server.bucket(nil), false)
			wantFailure(t, err, reasonOperation, false, c.message)
		})
	}
	server := hostile(t, one("../evil"), `"e"`, "x")
	if tree := look(t, server.bucket(func(b *Bucket) { b.Ignore = "evil" })); tree.Files != 0 {
		t.Error("what is ignored is no error")
	}
}

func TestMoreObjectsThanAllowed(t *testing.T) {
	var many listing
	for i := range 30 {
		many.Contents = append(many.Contents, listed{fmt.Sprintf("dir/%02d", i), "e", "1"})
	}
	server := hostile(t, many, `"e"`, "x")
	limited := func(entries int64, ignore string) *Bucket {
		return server.bucket(func(b *Bucket) { b.Limits, b.Ignore = archive.Limits{MaxEntries: entries}, ignore })
	}
	_, err := New().Look(t.Context(), limited(29, ""), false)
	wantFailure(t, err, reasonOperation, false, "the number of objects exceeds the limit of 29")
	_, err = New().Look(t.Context(), limited(2, "*"), false)
	wantFailure(t, err, reasonOperation, false, "excluded ones included, exceeds the limit of 20")
	if tree := look(t, limited(3, "*")); tree.Files != 0 {
		t.Error(tree.Files)
	}
}

func TestAStoreThatSendsSomethingElse(t *testing.T) {
	for sentence, c := range map[string]struct{ etag, content string }{
		"more than it listed":  {`"e"`, "xx"},
		"less than it listed":  {`"e"`, ""},
		"another version":      {`"f"`, "x"},
		"what has no ETag":     {"", "x"},
		"a gigabyte of spaces": {`"e"`, strings.Repeat(" ", 1<<20)},
	} {
		t.Run(sentence, func(t *testing.T) {
			server := hostile(t, one("a"), c.etag, c.content)
			tree := look(t, server.bucket(nil))
			dir := t.TempDir()
			wantFailure(t, tree.Fetch(t.Context(), dir), reasonOperation, false, "it was changed or removed during the fetch")
			entries, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, entry := range entries {
				if info, err := entry.Info(); err != nil || info.Size() > 2 {
					t.Errorf("%s was written: %v %v", entry.Name(), info, err)
				}
			}
		})
	}
}

func FuzzIndex(f *testing.F) {
	f.Add("a", "a/b", "e")
	f.Add("../x", "x\ny e", "z")
	f.Fuzz(func(t *testing.T, first, second, etag string) {
		x := &index{}
		for _, key := range []string{first, second} {
			if o := (object{key: key, etag: etag}); checkObject(o) == nil {
				x.objects = append(x.objects, o)
			}
		}
		if x.check() != nil {
			return
		}
		root, err := os.OpenRoot(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		// Whatever passes can be there together, below one directory.
		d := &download{root: root, store: fixed{etag}}
		if err := d.all(t.Context(), x.objects); err != nil {
			t.Errorf("%q and %q: %v", first, second, err)
		}
	})
}
