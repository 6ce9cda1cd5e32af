// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package blob

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// writerEnv makes the test binary the process that is killed: it names the directory to write to.
const writerEnv = "YUBA_TEST_BLOB_WRITER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(writerEnv); dir != "" {
		fmt.Fprintln(os.Stderr, writeForever(dir))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// writeForever replaces a few blobs again and again, and says each time that it finished one.
func writeForever(dir string) error {
	identity, err := LoadOrCreateKey(filepath.Join(dir, "key"))
	if err != nil {
		return err
	}
	store, err := Open(context.Background(), "file://"+dir+"/blobs", identity)
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		letter := string(rune('a' + i%26))
		key := fmt.Sprintf("some/%d/blob", i%3)
		if err := store.Put(context.Background(), key, strings.NewReader(strings.Repeat(letter, 1<<20))); err != nil {
			return err
		}
		fmt.Println(key)
	}
}

func TestAKilledWriterLeavesWholeBlobsOnly(t *testing.T) {
	dir := t.TempDir()
	for round := 1; round <= 5; round++ {
		killAfter(t, dir, 3+2*round)
	}
	identity, err := LoadOrCreateKey(filepath.Join(dir, "key"))
	if err != nil {
		t.Fatal(err)
	}
	store := openStore(t, "file://"+dir+"/blobs", identity)
	wantKeys(t, store.List(t.Context(), ""), "some/0/blob", "some/1/blob", "some/2/blob")
	for info := range store.List(t.Context(), "") {
		content := get(t, store, info.Key)
		if len(content) != 1<<20 || content != strings.Repeat(content[:1], 1<<20) {
			t.Errorf("%s is not whole: %d bytes", info.Key, len(content))
		}
	}
}

// killAfter lets a writer finish some blobs and kills it in the middle of the next one.
func killAfter(t *testing.T, dir string, blobs int) {
	t.Helper()
	writer := exec.CommandContext(t.Context(), os.Args[0])
	writer.Env = append(os.Environ(), writerEnv+"="+dir)
	writer.Stderr = os.Stderr
	out, err := writer.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := writer.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for range blobs {
		if !lines.Scan() {
			t.Fatal("the writer ended by itself")
		}
	}
	if err := writer.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, out)
	_ = writer.Wait() // reports the kill
}
