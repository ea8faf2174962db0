// nvml.dll and dxgi.dll have no code: their exports are names of functions in nvcuda.dll.
