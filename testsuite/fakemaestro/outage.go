package fakemaestro

// PauseHTTP refuses HTTP connections and cuts the present ones; the address stays the same for ResumeHTTP.
func (f *Faults) PauseHTTP() error { return f.server.httpPort.pause() }

// ResumeHTTP ends PauseHTTP.
func (f *Faults) ResumeHTTP() error { return f.server.httpPort.resume() }

// PauseGRPC refuses connections of sources and cuts the present ones.
func (f *Faults) PauseGRPC() error { return f.server.grpcPort.pause() }

// ResumeGRPC ends PauseGRPC.
func (f *Faults) ResumeGRPC() error { return f.server.grpcPort.resume() }

// PauseBroker refuses connections of agents and cuts the present ones.
func (f *Faults) PauseBroker() error { return f.server.brokerPort.pause() }

// ResumeBroker ends PauseBroker.
func (f *Faults) ResumeBroker() error { return f.server.brokerPort.resume() }

// DropStreams ends the status streams of all sources with Unavailable. Their connections stay.
func (f *Faults) DropStreams() { f.server.subscribers.dropAll() }

// CutConnections closes every connection of sources and agents without a word and goes on accepting.
func (f *Faults) CutConnections() {
	f.server.grpcPort.cutAll()
	f.server.brokerPort.cutAll()
}
