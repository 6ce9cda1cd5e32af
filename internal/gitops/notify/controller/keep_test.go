// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// sickDisk fails to read one file while it is sick.
type sickDisk struct {
	fs.FS
	name string
	sick bool
}

func (s *sickDisk) Open(name string) (fs.File, error) {
	if s.sick && name == s.name {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EIO}
	}
	return s.FS.Open(name)
}

func TestAMessageThatCannotBeReadIsKept(t *testing.T) {
	received := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { received <- struct{}{} }))
	defer server.Close()
	dir := t.TempDir()
	text, err := json.Marshal(delivery{Provider: eventsQueue, At: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"1.json": text, "2.json": []byte("{"), "3.json.new": text} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := &Dispatcher{Dir: dir, EventsAddr: server.URL, Log: slog.New(slog.DiscardHandler)}
	d.Prepare()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	disk := &sickDisk{FS: os.DirFS(dir), name: "1.json", sick: true}
	unread := d.restore(ctx, disk)
	if len(unread) != 1 || unread[0] != "1.json" {
		t.Errorf("to be read again: %v", unread)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 || left[0].Name() != "1.json" {
		t.Fatalf("on disk: %v (%v)", left, err)
	}
	disk.sick = false
	if unread = d.takeUp(ctx, disk, unread); len(unread) != 0 {
		t.Errorf("still to be read: %v", unread)
	}
	select {
	case <-received:
	case <-time.After(30 * time.Second):
		t.Error("the message was never sent")
	}
}
