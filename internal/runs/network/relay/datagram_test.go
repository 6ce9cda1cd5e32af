// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"net"
	"testing"
	"time"
)

// flowOf is a flow between a program and a destination. It returns the program's end, and a channel
// that closes with the flow.
func flowOf(t *testing.T, to string, idle time.Duration) (program net.Conn, ended chan struct{}) {
	t.Helper()
	mine, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := mine.LocalAddr().String()
	mine.Close()
	local, err := net.ResolveUDPAddr("udp", address)
	if err != nil {
		t.Fatal(err)
	}
	other, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	remote, ok := other.LocalAddr().(*net.UDPAddr)
	other.Close()
	if !ok {
		t.Fatal("not an address of UDP")
	}
	program, err = net.DialUDP("udp", local, remote)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { program.Close() })
	relays, err := net.DialUDP("udp", remote, local)
	if err != nil {
		t.Fatal(err)
	}
	out, err := net.Dial("udp", to)
	if err != nil {
		t.Fatal(err)
	}
	ended = make(chan struct{})
	go func() {
		defer close(ended)
		passFlow(relays, out, idle)
	}()
	t.Cleanup(func() { relays.Close(); out.Close(); <-ended })
	return program, ended
}

func send(t *testing.T, conn net.Conn, word string) {
	t.Helper()
	if _, err := conn.Write([]byte(word)); err != nil {
		t.Fatal(err)
	}
}

// receiveFrom returns one datagram and its sender.
func receiveFrom(t *testing.T, conn net.PacketConn) (string, net.Addr) {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	piece := make([]byte, 16)
	n, from, err := conn.ReadFrom(piece)
	if err != nil {
		t.Fatal(err)
	}
	return string(piece[:n]), from
}

// Metrics and logs go one way for a long time. A late answer still arrives, and the flow then ends.
func TestAFlowOfOneDirection(t *testing.T) {
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	const idle = time.Second
	program, ended := flowOf(t, server.LocalAddr().String(), idle)
	var from net.Addr
	for range 8 {
		send(t, program, "word")
		_, from = receiveFrom(t, server)
		time.Sleep(idle / 4)
	}
	if _, err := server.WriteTo([]byte("answer"), from); err != nil {
		t.Fatal(err)
	}
	piece := make([]byte, 16)
	_ = program.SetReadDeadline(time.Now().Add(20 * time.Second))
	if n, err := program.Read(piece); err != nil || string(piece[:n]) != "answer" {
		t.Errorf("%q, %v", piece[:n], err)
	}
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Error("an idle flow does not end")
	}
}

// A server that restarts refuses datagrams for a moment.
func TestAFlowSurvivesAServerThatRestarts(t *testing.T) {
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := server.LocalAddr().String()
	server.Close()
	program, _ := flowOf(t, address, time.Minute)
	for range 3 {
		send(t, program, "lost")
		time.Sleep(20 * time.Millisecond) // for the refusal
	}
	if server, err = net.ListenPacket("udp", address); err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	send(t, program, "first") // may report the last refusal, and be lost
	send(t, program, "second")
	if word, _ := receiveFrom(t, server); word != "first" && word != "second" {
		t.Errorf("%q came", word)
	}
}
