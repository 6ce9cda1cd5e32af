// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cloud_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/test/cloud"
)

func start(t *testing.T) *cloud.Cloud {
	t.Helper()
	c := cloud.Start()
	t.Cleanup(c.Close)
	return c
}

// do makes a request and returns the status and body of the response.
func do(t *testing.T, c *cloud.Cloud, method, path, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, c.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+c.Token())
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // read only
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, strings.TrimSpace(string(text))
}

func TestObjectsLiveAndDie(t *testing.T) {
	c := start(t)
	for _, step := range []struct {
		method, path, body string
		status             int
		answer             string
	}{
		{"GET", "/objects/a", "", 404, "no object a"},
		{"PUT", "/objects/a", `{"content":"1"}`, 200, `{"content":"1","revision":1}`},
		{"PUT", "/objects/a", `{"content":"2","secret":"s"}`, 200, `{"content":"2","secret":"s","revision":2}`},
		{"GET", "/objects/a", "", 200, `{"content":"2","secret":"s","revision":2}`},
		{"GET", "/objects", "", 200, `["a"]`},
		{"DELETE", "/objects/a", "", 200, ""},
		{"DELETE", "/objects/a", "", 404, "no object a"},
	} {
		status, answer := do(t, c, step.method, step.path, step.body)
		if status != step.status || answer != step.answer {
			t.Errorf("%s %s: %d %s, want %d %s", step.method, step.path, status, answer, step.status, step.answer)
		}
	}
	if n := c.Count("PUT", "a"); n != 2 {
		t.Errorf("%d PUTs were counted, want 2", n)
	}
}

func TestNobodyGetsInWithoutTheToken(t *testing.T) {
	c := start(t)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.URL()+"/objects", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close() //nolint:errcheck // not read
	if response.StatusCode != http.StatusUnauthorized {
		t.Errorf("status %d", response.StatusCode)
	}
}

func TestHeldRequestIsServedWhenItIsReleased(t *testing.T) {
	c := start(t)
	gate := c.Hold("PUT", "a")
	done := make(chan int)
	go func() {
		status, _ := do(t, c, "PUT", "/objects/a", `{"content":"1"}`)
		done <- status
	}()
	<-gate.Reached()
	if names := c.Names(""); len(names) != 0 {
		t.Errorf("there is %v before the gate is open", names)
	}
	gate.Release()
	if status := <-done; status != http.StatusOK {
		t.Errorf("status %d", status)
	}
	if err := c.AwaitCount(t.Context(), "PUT", "a", 1); err != nil {
		t.Error(err)
	}
}

func TestFailingRequestSaysSo(t *testing.T) {
	c := start(t)
	c.Fail("PUT", "a", http.StatusInsufficientStorage, "no room for {secret}")
	if status, answer := do(t, c, "PUT", "/objects/a", `{"secret":"s"}`); status != http.StatusInsufficientStorage || answer != "no room for s" {
		t.Errorf("%d %s", status, answer)
	}
	c.Fail("PUT", "a", 0, "")
	if status, _ := do(t, c, "PUT", "/objects/a", "{}"); status != http.StatusOK {
		t.Errorf("status %d", status)
	}
}

func TestJournalTellsWhatWasMistaken(t *testing.T) {
	c := start(t)
	var told []string
	c.KeepJournal(func(change cloud.Change) { told = append(told, change.Mistaken()) })
	do(t, c, "PUT", "/objects/a", "{}")
	do(t, c, "GET", "/objects/a", "")
	do(t, c, "DELETE", "/objects/a", "")
	do(t, c, "DELETE", "/objects/a", "")
	var changes []cloud.Change
	for range 2 {
		create(t, c, "b")
	}
	changes = c.Journal()
	want := []cloud.Change{
		{Method: "PUT", Name: "a"}, {Method: "DELETE", Name: "a", Existed: true}, {Method: "DELETE", Name: "a"},
		{Method: "PUT", Name: "b", Create: true}, {Method: "PUT", Name: "b", Create: true, Existed: true},
	}
	if diff := cmp.Diff(want, changes); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"updated what was not there", "", "deleted what was not there", "", "created what was there already"}, told); diff != "" {
		t.Error(diff)
	}
}

// create creates an object as a provider does that assumes there is none.
func create(t *testing.T, c *cloud.Cloud, name string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, c.URL()+"/objects/"+name, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+c.Token())
	r.Header.Set(cloud.HeaderCreate, "yes")
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close() //nolint:errcheck // not read
}

func TestStateIsLockedByOneAtATime(t *testing.T) {
	c := start(t)
	var got []int
	for _, step := range []struct{ method, body string }{
		{"GET", ""}, {"LOCK", "me"}, {"LOCK", "you"}, {"POST", "state"}, {"GET", ""}, {"UNLOCK", ""}, {"LOCK", "you"},
	} {
		status, _ := do(t, c, step.method, "/states/s", step.body)
		got = append(got, status)
	}
	if diff := cmp.Diff([]int{404, 200, 423, 200, 200, 200, 200}, got); diff != "" {
		t.Error(diff)
	}
	if string(c.State("s")) != "state" || !c.StateLocked("s") {
		t.Errorf("state %q, locked %v", c.State("s"), c.StateLocked("s"))
	}
}
