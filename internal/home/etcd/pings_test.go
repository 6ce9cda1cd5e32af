// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Frames of HTTP/2, which gRPC speaks.
const (
	frameSettings, framePing, frameGoAway = 4, 6, 7
	flagAck                               = 1
)

func frame(kind, flags byte, payload []byte) []byte {
	return append([]byte{0, 0, byte(len(payload)), kind, flags, 0, 0, 0, 0}, payload...)
}

// TestAClientMayAskWhetherTheServerIsThere: the API server does so every 30 seconds.
func TestAClientMayAskWhetherTheServerIsThere(t *testing.T) {
	f := newFixture(t)
	server := f.start(t, filepath.Join(f.dir, "data"), nil)
	config := f.client.Clone()
	config.NextProtos = []string{"h2"}
	connection, err := tls.Dial("tcp", strings.TrimPrefix(server.Endpoint(), "https://"), config)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	send := func(data []byte) {
		t.Helper()
		if _, err := connection.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	send(append([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame(frameSettings, 0, nil)...))
	if err := connection.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		time.Sleep(2 * time.Millisecond) // as far apart as the server wants them, at least
		send(frame(framePing, 0, []byte{0, 0, 0, 0, 0, 0, 0, byte(i)}))
		for answered := false; !answered; {
			header := make([]byte, 9)
			if _, err := io.ReadFull(connection, header); err != nil {
				t.Fatalf("ping %d: %v", i, err)
			}
			payload := make([]byte, binary.BigEndian.Uint32(append([]byte{0}, header[:3]...)))
			if _, err := io.ReadFull(connection, payload); err != nil {
				t.Fatalf("ping %d: %v", i, err)
			}
			if header[3] == frameGoAway {
				t.Fatalf("after ping %d the server hung up: %q", i, payload)
			}
			answered = header[3] == framePing && header[4] == flagAck && bytes.HasSuffix(payload, []byte{byte(i)})
		}
	}
}
