// nvml.dll, dxgi.dll and dxcore.dll have no code: their exports are names of functions in nvcuda.dll.
